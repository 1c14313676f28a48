// Command benchclusters measures how long it takes to write the folders of 200 clusters of three machines, in memory and on the disk, and
// again after a change of each. It prints a table of results and goals, and exits with 1 if a goal is missed.
//
//	go run ./scripts/benchclusters [-runs N] [-clusters N] [-disk DIR] [-memory DIR]
package main

import (
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"filippo.io/age"
	"golang.org/x/sync/errgroup"

	"github.com/toskose/toskose/edge"
	"github.com/toskose/toskose/edge/folder"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "benchclusters:", err)
		os.Exit(1)
	}
}

// goal is the limit for the creation of all folders.
const goal = time.Second

// maxParallel is the number of clusters that are written at the same time, as a fleet's tool does.
const maxParallel = 8

func run() error {
	runs := flag.Int("runs", 5, "number of repetitions")
	clusters := flag.Int("clusters", 200, "number of clusters")
	disk := flag.String("disk", "build", "a folder on the disk")
	memory := flag.String("memory", "/dev/shm", "a folder in memory (tmpfs)")
	flag.Parse()
	all, err := documents(*clusters)
	if err != nil {
		return err
	}
	fmt.Printf("%d clusters of 3 machines, the median of %d runs\n%-32s %10s %10s\n", *clusters, *runs, "", "median", "goal")
	missed := false
	for _, where := range []struct{ name, dir string }{{"tmpfs", *memory}, {"disk", *disk}} {
		var created, changed []time.Duration
		for range *runs {
			c, l, err := measure(all, where.dir)
			if err != nil {
				return err
			}
			created, changed = append(created, c), append(changed, l)
		}
		missed = missed || median(created) > goal
		fmt.Printf("%-32s %10s %10s\n", "created on "+where.name, median(created).Round(time.Millisecond), goal)
		fmt.Printf("%-32s %10s %10s\n", "a label changed on "+where.name, median(changed).Round(time.Millisecond), "-")
	}
	if missed {
		return errors.New("a goal was missed")
	}
	return nil
}

func median(took []time.Duration) time.Duration {
	slices.Sort(took)
	return took[len(took)/2]
}

// documents returns clusters whose machines have keys of their own.
func documents(n int) ([]edge.Document, error) {
	all := make([]edge.Document, n)
	for i := range all {
		o := edge.CreateOptions{Name: fmt.Sprintf("site-%d", i), Interface: "eth1", Random: rand.Reader}
		for _, name := range []string{"edge-a", "edge-b", "edge-c"} {
			id, err := age.GenerateX25519Identity()
			if err != nil {
				return nil, err
			}
			o.Servers = append(o.Servers, edge.Machine{Name: name, Key: id.Recipient().String()})
		}
		var err error
		if all[i], err = edge.Create(o); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// measure returns how long it takes to create all folders, and to change a label in each.
func measure(all []edge.Document, in string) (created, changed time.Duration, err error) {
	if err := os.MkdirAll(in, 0o750); err != nil {
		return 0, 0, err
	}
	dir, err := os.MkdirTemp(in, "benchclusters-")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	created, err = each(all, func(d edge.Document) error { return folder.Create(filepath.Join(dir, d.Name), d, rand.Reader) })
	if err != nil {
		return 0, 0, err
	}
	changed, err = each(all, func(d edge.Document) error { return label(filepath.Join(dir, d.Name)) })
	return created, changed, err
}

func label(dir string) error {
	f, err := folder.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	c, err := edge.Label(f.Document, "edge-b", map[string]string{"GPU": "2"}, nil)
	if err != nil {
		return err
	}
	_, err = f.Apply(c, rand.Reader)
	return err
}

// each calls a function for all clusters, and returns how long that takes.
func each(all []edge.Document, do func(edge.Document) error) (time.Duration, error) {
	start := time.Now()
	var group errgroup.Group
	group.SetLimit(maxParallel)
	for _, d := range all {
		group.Go(func() error { return do(d) })
	}
	err := group.Wait()
	return time.Since(start), err
}
