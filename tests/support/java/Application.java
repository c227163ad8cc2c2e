import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.Scanner;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Applications that only Kafka's own clients can be: `Application KIND NAME INPUT OUTPUT key=value...`.
 *
 * <p>`share` accepts and prints each value of INPUT; `consume` prints and commits them as a consumer of a group, with the
 * highest leader epoch that it saw. They end when their standard input ends.
 */
public final class Application {
    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        for (int at = 4; at < arguments.length; at++) {
            String[] pair = arguments[at].split("=", 2);
            properties.put(pair[0], pair[1]);
        }
        if (arguments[0].equals("consume")) {
            consume(arguments[1], arguments[2], properties);
        } else {
            share(arguments[1], arguments[2], properties);
        }
    }

    private static void share(String name, String input, Properties properties) throws Exception {
        properties.put("group.id", name);
        properties.put("share.acknowledgement.mode", "explicit");
        AtomicBoolean over = over();
        try (KafkaShareConsumer<byte[], byte[]> consumer =
                new KafkaShareConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(input));
            while (!over.get()) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    consumer.acknowledge(record, AcknowledgeType.ACCEPT);
                    System.out.println("READ " + new String(record.value()));
                }
                consumer.commitSync();
            }
        }
        System.out.println("ENDED");
    }

    private static void consume(String name, String input, Properties properties) {
        properties.put("group.id", name);
        properties.put("enable.auto.commit", "false");
        AtomicBoolean over = over();
        int epoch = -1;
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(input));
            while (!over.get()) {
                ConsumerRecords<byte[], byte[]> found = consumer.poll(Duration.ofMillis(200));
                for (ConsumerRecord<byte[], byte[]> record : found) {
                    epoch = Math.max(epoch, record.leaderEpoch().orElse(-1));
                    System.out.println("READ " + new String(record.value()));
                }
                if (!found.isEmpty()) {
                    consumer.commitSync();
                    System.out.println("EPOCH " + epoch);
                }
            }
        } catch (RuntimeException error) {
            System.out.println("FAILED " + error);
        }
        System.out.println("ENDED");
    }

    private static AtomicBoolean over() {
        AtomicBoolean over = new AtomicBoolean();
        Thread waiting = new Thread(() -> {
            end();
            over.set(true);
        });
        waiting.setDaemon(true);
        waiting.start();
        return over;
    }

    private static void end() {
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            lines.nextLine();
        }
    }
}
