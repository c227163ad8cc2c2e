import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.Scanner;
import org.apache.kafka.common.metadata.MetadataJsonConverters;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/** Reads records of the metadata log in hex, one a line; writes what Kafka itself takes them for. */
public final class KafkaRecords {
    public static void main(String[] arguments) {
        MetadataRecordSerde serde = MetadataRecordSerde.INSTANCE;
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            byte[] data = HexFormat.of().parseHex(lines.nextLine());
            ApiMessageAndVersion read = serde.read(new ByteBufferAccessor(ByteBuffer.wrap(data)), data.length);
            ObjectSerializationCache cache = new ObjectSerializationCache();
            ByteBuffer out = ByteBuffer.allocate(serde.recordSize(read, cache));
            serde.write(read, cache, new ByteBufferAccessor(out));
            System.out.println(read.message().getClass().getSimpleName() + " " + read.version() + " "
                + HexFormat.of().formatHex(out.array()) + " "
                + MetadataJsonConverters.writeJson(read.message(), read.version()));
        }
    }
}
