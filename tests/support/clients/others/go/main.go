// A client of franz-go that knows nothing but a gateway: `moving KIND NAME TOPIC key=value...`.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

var (
	out     = bufio.NewWriter(os.Stdout)
	printed sync.Mutex
	longest time.Duration
)

func say(words ...any) {
	printed.Lock()
	defer printed.Unlock()
	fmt.Fprintln(out, words...)
	out.Flush()
}

func took(since time.Time) {
	printed.Lock()
	defer printed.Unlock()
	longest = max(longest, time.Since(since))
}

func options(configs map[string]string) []kgo.Opt {
	found := []kgo.Opt{
		kgo.SeedBrokers(configs["bootstrap"]),
		kgo.WithLogger(kgo.BasicLogger(os.Stderr, kgo.LogLevelInfo, nil)),
	}
	switch configs["acks"] {
	case "0":
		found = append(found, kgo.RequiredAcks(kgo.NoAck()))
	case "1":
		found = append(found, kgo.RequiredAcks(kgo.LeaderAck()))
	}
	if configs["idempotent"] == "false" {
		found = append(found, kgo.DisableIdempotentWrite())
	}
	return found
}

func write(ctx context.Context, name, topic string, configs map[string]string) {
	client, err := kgo.NewClient(append(options(configs), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		panic(err)
	}
	count := 0
	for ; ctx.Err() == nil; count++ {
		begun := time.Now()
		record := &kgo.Record{Topic: topic, Partition: int32(count % 2), Value: fmt.Appendf(nil, "%s %d", name, count)}
		client.Produce(context.Background(), record, func(_ *kgo.Record, err error) {
			took(begun)
			if err != nil {
				say("FAILED", err)
			}
		})
		time.Sleep(20 * time.Millisecond)
	}
	if err := client.Flush(context.Background()); err != nil {
		say("FAILED", err)
	}
	client.Close()
	say("SENT", count)
}

func read(ctx context.Context, group, topic string, configs map[string]string) {
	begin := kgo.NewOffset().AtStart()
	more := []kgo.Opt{
		kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(begin),
		kgo.SessionTimeout(30 * time.Second), kgo.HeartbeatInterval(500 * time.Millisecond),
	}
	switch configs["assignor"] {
	case "share":
		more = append(more, kgo.ShareGroup(group))
	case "server":
		more = append(more, kgo.ConsumerGroup(group), kgo.ServerSideBalancer())
	case "range":
		more = append(more, kgo.ConsumerGroup(group), kgo.Balancers(kgo.RangeBalancer()))
	case "roundrobin":
		more = append(more, kgo.ConsumerGroup(group), kgo.Balancers(kgo.RoundRobinBalancer()))
	case "sticky":
		more = append(more, kgo.ConsumerGroup(group), kgo.Balancers(kgo.StickyBalancer()))
	default:
		more = append(more, kgo.ConsumerGroup(group), kgo.Balancers(kgo.CooperativeStickyBalancer()))
	}
	if configs["instance"] != "" {
		more = append(more, kgo.InstanceID(configs["instance"]))
	}
	client, err := kgo.NewClient(append(options(configs), more...)...)
	if err != nil {
		panic(err)
	}
	for ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		fetches.EachError(func(_ string, _ int32, err error) {
			// What a restarted broker gives, too: the client tries again by itself.
			var session *kgo.ErrGroupSession
			if ctx.Err() == nil && !errors.As(err, &session) {
				say("FAILED", err)
			}
		})
		fetches.EachRecord(func(record *kgo.Record) {
			say("READ", record.Partition, record.Offset, time.Now().UnixMilli())
		})
	}
	client.Close()
}

func main() {
	kind, name, topic := os.Args[1], os.Args[2], os.Args[3]
	configs := map[string]string{}
	for _, each := range os.Args[4:] {
		key, value, _ := strings.Cut(each, "=")
		configs[key] = value
	}
	ctx, end := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		end()
	}()
	if kind == "write" {
		write(ctx, name, topic, configs)
	} else {
		read(ctx, name, topic, configs)
	}
	say("LONGEST", longest.Milliseconds())
	say("ENDED")
}
