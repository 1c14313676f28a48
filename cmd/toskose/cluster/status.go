package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/edge"
	"github.com/toskose/toskose/edge/folder"
	"github.com/toskose/toskose/edge/observe"
	"github.com/toskose/toskose/internal/visible"
)

// defaultTimeout is the time limit of one request.
const defaultTimeout = 10 * time.Second

// errNotReady is printed when a status is not the desired one.
var errNotReady = errors.New("not all machines are READY")

func (s *session) status() *cobra.Command {
	var form cli.Form
	var watch bool
	var interval, timeout time.Duration
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the state of each machine, and the use of resources by applications",
		Long: `Show each machine of a cluster: its role, address and state, since when it has this
state, and its containers, CPU and memory, which the kubelets report; and for each
application that Toskose packaged, the sums over all machines.

READY and NOTREADY are what the cluster says. DOWN means that no API server answers.
ABSENT machines are only in cluster.yaml, STRANGER machines only in the cluster. The exit
code is 1 unless all machines are READY. On a server of the cluster, k3s's own kubeconfig
is used.`,
		Example: "  toskose cluster status --dir factory-7 --context factory-7\n  toskose cluster status --dir factory-7 --watch\n  toskose cluster status --dir factory-7 -o json",
		Args:    cli.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if interval <= 0 || timeout <= 0 {
				return cli.Misuse(errors.New("--interval and --timeout must be positive"))
			}
			d, err := folder.Read(s.dir)
			if err != nil {
				return err
			}
			c := s.observed(d, timeout)
			if watch {
				return s.watch(cmd.Context(), c, d, &form, interval)
			}
			status, err := c.Status(cmd.Context(), d)
			if err != nil {
				return err
			}
			if err := form.Show(s.streams.Out, status, func(w io.Writer) { printStatus(w, status, form == cli.FormWide) }); err != nil {
				return err
			}
			if !status.AllReady() {
				return errNotReady
			}
			return nil
		},
	}
	s.inFolder(cmd)
	s.inContext(cmd, "kubectl context of the cluster (default: the current one)")
	form.Register(cmd)
	cmd.Flags().BoolVar(&watch, "watch", false, "repeat until interrupted")
	cmd.Flags().DurationVar(&interval, "interval", 5*time.Second, "the time between two readings of --watch")
	cmd.Flags().DurationVar(&timeout, "timeout", defaultTimeout, "time limit for an API server to respond")
	return cmd
}

// watch shows the state until it is interrupted, which is its normal end.
func (s *session) watch(ctx context.Context, c observe.Cluster, d edge.Document, form *cli.Form, interval time.Duration) error {
	var before observe.Status
	for {
		status, err := c.Status(ctx, d)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // an interrupt is the normal end
		}
		if err != nil {
			return err
		}
		at := time.Now().UTC().Truncate(time.Second)
		keepSince(before, &status, at)
		before = status
		if form.ForPrograms() {
			err = form.ShowNext(s.streams.Out, status)
		} else {
			var page bytes.Buffer
			fmt.Fprintln(&page, at.Format(time.RFC3339))
			printStatus(&page, status, *form == cli.FormWide)
			_, err = fmt.Fprintln(s.streams.Out, page.String())
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(interval):
		}
	}
}

// keepSince completes states whose beginning the cluster does not know: they began when they were first seen.
func keepSince(before observe.Status, now *observe.Status, at time.Time) {
	for i := range now.Machines {
		m := &now.Machines[i]
		if m.Since != nil {
			continue
		}
		for _, old := range before.Machines {
			if old.Name != m.Name {
				continue
			}
			if m.Since = old.Since; old.State != m.State {
				m.Since = &at
			}
		}
	}
}

func printStatus(w io.Writer, status observe.Status, wide bool) {
	if status.Problem != "" {
		fmt.Fprintln(w, visible.Lines(status.Problem))
	}
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "MACHINE\tROLE\tADDRESS\tSTATE\tSINCE\tCONTAINERS\tCPU\tMEMORY"+map[bool]string{true: "\tPROBLEM"}[wide])
	for _, m := range status.Machines {
		containers, used := "-", "-\t-"
		if m.Containers != nil {
			containers = strconv.Itoa(*m.Containers)
		}
		if m.Usage != nil {
			used = usage(*m.Usage)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s", visible.Text(m.Name), cmp.Or(m.Role, "-"), visible.Text(cmp.Or(m.Address, "-")), m.State, since(m.Since), containers, used)
		if wide {
			fmt.Fprintf(t, "\t%s", visible.Text(cmp.Or(strings.ReplaceAll(m.Problem, "\n", " "), "-")))
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush() // output errors are ignored
	if len(status.Applications) == 0 {
		return
	}
	fmt.Fprintln(w)
	t = tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "APPLICATION\tNAMESPACE\tPODS\tCONTAINERS\tCPU\tMEMORY\tMACHINES")
	for _, a := range status.Applications {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\t%s\n", visible.Text(a.Name), visible.Text(a.Namespace), a.Pods, a.Containers, usage(a.Usage), visible.Text(strings.Join(a.Machines, ", ")))
	}
	_ = t.Flush() // output errors are ignored
}

// usage is the use of resources as people read it, in two columns.
func usage(u observe.Usage) string {
	return fmt.Sprintf("%dm\t%d MiB", u.CPU/1e6, u.Memory>>20)
}

func (s *session) volumes() *cobra.Command {
	var form cli.Form
	var metrics string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "volumes",
		Short: "Show Longhorn's volumes, the worst and longest first",
		Long: `Show Longhorn's volumes: their state and robustness as word and number, the claim and the
application of each, and since when it is degraded. The worst come first, and of these
the ones that have been so for the longest time. With --metrics, the volumes are read from
Longhorn's metrics, which do not say since when.`,
		Example: "  toskose cluster volumes --context factory-7\n  toskose cluster volumes --metrics http://longhorn-backend:9500/metrics -o json",
		Args:    cli.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := s.readVolumes(cmd.Context(), metrics, timeout)
			if err != nil {
				return err
			}
			return form.Show(s.streams.Out, all, func(w io.Writer) { printVolumes(w, all) })
		},
	}
	s.inContext(cmd, "kubectl context of the cluster (default: the current one)")
	form.Register(cmd)
	cmd.Flags().StringVar(&metrics, "metrics", "", "the `URL` of Longhorn's metrics, to read them instead of the cluster")
	cmd.Flags().DurationVar(&timeout, "timeout", defaultTimeout, "time limit for a request")
	return cmd
}

func (s *session) readVolumes(ctx context.Context, metrics string, timeout time.Duration) ([]observe.Volume, error) {
	if metrics != "" {
		client := &http.Client{Timeout: timeout}
		defer client.CloseIdleConnections()
		return observe.Metrics(ctx, client, metrics)
	}
	all, installed, err := s.observed(edge.Document{}, timeout).Volumes(ctx)
	if err == nil && !installed {
		s.say("the cluster has no volumes of Longhorn: the kind volumes.longhorn.io is not installed")
	}
	return all, err
}

func printVolumes(w io.Writer, all []observe.Volume) {
	if len(all) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "VOLUME\tSTATE\tROBUSTNESS\tDEGRADED SINCE\tCLAIM\tAPPLICATION")
	for _, v := range all {
		claim := strings.Join(slices.DeleteFunc([]string{v.Namespace, v.Claim}, func(text string) bool { return text == "" }), "/")
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", visible.Text(v.Name), word(v.State), word(v.Robustness), since(v.Since), visible.Text(cmp.Or(claim, "-")), visible.Text(cmp.Or(v.Application, "-")))
	}
	_ = t.Flush() // output errors are ignored
}

func word(w observe.Word) string { return fmt.Sprintf("%s (%d)", visible.Text(w.Word), w.Number) }
