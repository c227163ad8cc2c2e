import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Scanner;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * A client that knows nothing but a gateway, for any version of kafka-clients: `MovingClient KIND NAME TOPIC key=value...`.
 *
 * <p>`write` sends the numbers from 0 on, as the producer NAME, to two partitions in turn, until its standard input ends;
 * then it prints how many it sent, and the longest time until one was acknowledged. `read` prints partition, offset and time
 * of each record that it reads as a member of the group NAME. `transact` writes numbered transactions under the transactional id
 * NAME, of which it aborts every fourth, and prints what became of each. `process` reads the topic `INPUT>OUTPUT` as a member of
 * the group NAME, and writes partition and offset of each record in a transaction that commits the offsets, too. What an
 * application would be told is printed after `FAILED`.
 */
public final class MovingClient {
    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        for (int at = 3; at < arguments.length; at++) {
            String[] pair = arguments[at].split("=", 2);
            properties.put(pair[0], pair[1]);
        }
        if (arguments[0].equals("write")) {
            write(Integer.parseInt(arguments[1]), arguments[2], properties);
        } else if (arguments[0].equals("transact")) {
            transact(arguments[1], arguments[2], properties);
        } else if (arguments[0].equals("process")) {
            process(arguments[1], arguments[2].split(">"), properties);
        } else {
            read(arguments[1], arguments[2], properties);
        }
        System.out.println("ENDED");
    }

    private static void write(int number, String topic, Properties properties) throws Exception {
        AtomicBoolean over = over();
        AtomicLong longest = new AtomicLong();
        long count = 0;
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer())) {
            while (!over.get()) {
                byte[] value = ByteBuffer.allocate(12).putInt(number).putLong(count).array();
                long begun = System.nanoTime();
                producer.send(new ProducerRecord<>(topic, (int) (count % 2), null, value), (done, error) -> {
                    if (error != null) {
                        System.out.println("FAILED " + error);
                    }
                    longest.accumulateAndGet((System.nanoTime() - begun) / 1_000_000, Math::max);
                });
                count++;
                Thread.sleep(20);
            }
            producer.flush();
        }
        System.out.println("SENT " + count);
        System.out.println("LONGEST " + longest.get());
    }

    private static void read(String group, String topic, Properties properties) {
        properties.put("group.id", group);
        properties.put("auto.offset.reset", "earliest");
        AtomicBoolean over = over();
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(topic));
            while (!over.get()) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    System.out.println(
                            "READ " + record.partition() + " " + record.offset() + " " + System.currentTimeMillis());
                }
            }
        } catch (RuntimeException error) {
            System.out.println("FAILED " + error);
        }
    }

    private static void transact(String name, String topic, Properties properties) throws Exception {
        AtomicBoolean over = over();
        properties.put("transactional.id", name);
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer())) {
            producer.initTransactions();
            for (int number = 0; !over.get(); number++) {
                producer.beginTransaction();
                for (int partition = 0; partition < 2; partition++) {
                    for (int n = 0; n < 3; n++) {
                        String value = String.format("[\"%s\", %d, %d, %d]", name, number, partition, n);
                        producer.send(new ProducerRecord<>(topic, partition, null, value.getBytes()));
                    }
                }
                if (number % 4 == 3) {
                    producer.flush();
                    producer.abortTransaction();
                    System.out.println("ABORTED " + number);
                } else {
                    producer.commitTransaction();
                    System.out.println("COMMITTED " + number);
                }
                Thread.sleep(50);
            }
        } catch (RuntimeException error) {
            System.out.println("FAILED " + error);
        }
    }

    private static void process(String group, String[] topics, Properties properties) {
        AtomicBoolean over = over();
        properties.put("group.id", group);
        properties.put("auto.offset.reset", "earliest");
        properties.put("enable.auto.commit", "false");
        properties.put("isolation.level", "read_committed");
        properties.put("transactional.id", group + "-app");
        Properties producing = new Properties();
        producing.put("bootstrap.servers", properties.get("bootstrap.servers"));
        producing.put("transactional.id", group + "-app");
        try (KafkaConsumer<byte[], byte[]> consumer =
                        new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
                KafkaProducer<byte[], byte[]> producer =
                        new KafkaProducer<>(producing, new ByteArraySerializer(), new ByteArraySerializer())) {
            producer.initTransactions();
            consumer.subscribe(List.of(topics[0]));
            for (int number = 0, idle = 0; !over.get() || idle < 10; ) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(200));
                if (records.isEmpty()) {
                    idle++;
                    continue;
                }
                idle = 0;
                producer.beginTransaction();
                Map<TopicPartition, OffsetAndMetadata> positions = new HashMap<>();
                for (ConsumerRecord<byte[], byte[]> record : records) {
                    String value = "[" + record.partition() + ", " + record.offset() + "]";
                    producer.send(new ProducerRecord<>(topics[1], record.partition(), null, value.getBytes()));
                    positions.put(
                            new TopicPartition(record.topic(), record.partition()),
                            new OffsetAndMetadata(record.offset() + 1));
                }
                producer.sendOffsetsToTransaction(positions, consumer.groupMetadata());
                producer.commitTransaction();
                System.out.println("COMMITTED " + number++);
            }
        } catch (RuntimeException error) {
            System.out.println("FAILED " + error);
        }
    }

    private static AtomicBoolean over() {
        AtomicBoolean over = new AtomicBoolean();
        Thread waiting = new Thread(() -> {
            Scanner lines = new Scanner(System.in);
            while (lines.hasNextLine()) {
                lines.nextLine();
            }
            over.set(true);
        });
        waiting.setDaemon(true);
        waiting.start();
        return over;
    }
}
