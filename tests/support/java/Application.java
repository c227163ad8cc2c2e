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
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

/**
 * Applications that only Kafka's own clients can be: `Application KIND NAME INPUT OUTPUT key=value...`.
 *
 * <p>`streams` counts the records of INPUT by the part of their value before ":" into OUTPUT; `share` accepts and
 * prints each value of INPUT; `consume` prints and commits them as a consumer of a group, with the highest leader epoch
 * that it saw. They end when their standard input ends.
 */
public final class Application {
    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        for (int at = 4; at < arguments.length; at++) {
            String[] pair = arguments[at].split("=", 2);
            properties.put(pair[0], pair[1]);
        }
        if (arguments[0].equals("streams")) {
            streams(arguments[1], arguments[2], arguments[3], properties);
        } else if (arguments[0].equals("consume")) {
            consume(arguments[1], arguments[2], properties);
        } else {
            share(arguments[1], arguments[2], properties);
        }
    }

    private static void streams(String name, String input, String output, Properties properties) {
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
            return org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse
                .SHUTDOWN_CLIENT;
        });
        streams.setStateListener((now, before) -> System.out.println("STATE " + now));
        streams.start();
        end();
        streams.close(Duration.ofSeconds(30));
        System.out.println("ENDED");
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
