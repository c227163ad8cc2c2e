import java.time.Duration;
import java.util.Properties;
import java.util.Scanner;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

/**
 * A Streams application: `StreamsApplication streams NAME INPUT OUTPUT key=value...`.
 *
 * <p>It counts the records of INPUT by the part of their value before ":" into OUTPUT, with a repartition topic between
 * and a store. It ends when its standard input ends.
 */
public final class StreamsApplication {
    public static void main(String[] arguments) {
        String name = arguments[1], input = arguments[2], output = arguments[3];
        Properties properties = new Properties();
        for (int at = 4; at < arguments.length; at++) {
            String[] pair = arguments[at].split("=", 2);
            properties.put(pair[0], pair[1]);
        }
        properties.put("application.id", name);
        properties.put("replication.factor", "1");
        properties.put("commit.interval.ms", "200");
        properties.put("statestore.cache.max.bytes", "0");
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(input, Consumed.with(Serdes.ByteArray(), Serdes.String()))
            .groupBy((key, value) -> value.split(":")[0], Grouped.with("byword", Serdes.String(), Serdes.String()))
            .count(Materialized.as("counts"))
            .toStream()
            .mapValues(String::valueOf)
            .to(output, Produced.with(Serdes.String(), Serdes.String()));
        KafkaStreams streams = new KafkaStreams(builder.build(), properties);
        streams.setUncaughtExceptionHandler(error -> {
            System.out.println("FAILED " + error);
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.setStateListener((now, before) -> System.out.println("STATE " + now));
        streams.start();
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            lines.nextLine();
        }
        streams.close(Duration.ofSeconds(30));
        System.out.println("ENDED");
    }
}
