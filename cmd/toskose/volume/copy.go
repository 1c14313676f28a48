package volume

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/packager/volumes"
	"github.com/toskose/toskose/packager/volumes/tree"
)

// copying are the flags of backup and restore.
type copying struct {
	names       []string
	stop, force bool
	manager     string
	leftOut     []string // that a backup may lack, as VOLUME/PATH
	locking     locking
}

func (f *copying) register(cmd *cobra.Command, force string) {
	cmd.Flags().StringArrayVar(&f.names, "volume", nil, "copy this `VOLUME` only; may be repeated")
	cmd.Flags().StringVar(&f.manager, "manager", "", "with --stop: the manager's `URL` (default: as the folder or the context says)")
	cmd.Flags().BoolVar(&f.stop, "stop", false, "stop the components of the containers that have the volumes, and containers without components, and start them again afterwards")
	cmd.Flags().BoolVar(&f.force, "force", false, force)
	f.locking.register(cmd)
}

func (s *session) backup() *cobra.Command {
	var flags copying
	cmd := &cobra.Command{
		Use:   "backup APPLICATION FILE",
		Short: "Copy the volumes of an application to a file",
		Long: `Copy the volumes of an application to FILE, a tar archive with a folder for each
volume, with owners, modes, times, links and extended attributes. FILE appears when
it is complete, and only you can read it.

Without --stop, the backup may contain changes that are made meanwhile in part. With
--stop, toskose stops the components of all containers that mount the volumes, and
containers without components (on Kubernetes, it scales their workloads to zero), and
starts them again afterwards, even if the backup fails.

Files that cannot be copied, such as devices, are listed, and the exit code is 1; the
backup has all other files. --allow-left-out names files that a backup may lack.`,
		Example: "  toskose volume backup --stop thinking thinking.tar\n  toskose volume backup --volume dbvolume thinking thinking.tar",
		Args:    cli.Args(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.locking.command = cli.Line(cmd, args)
			return s.at(cmd.Context(), args[0], func(p place) error {
				return s.exclusively(cmd.Context(), p, flags.locking, func(ctx context.Context) error { return s.save(ctx, p, args[1], flags) })
			})
		},
	}
	flags.register(cmd, "replace FILE if it is there")
	cmd.Flags().StringArrayVar(&flags.leftOut, "allow-left-out", nil, "exit with 0 even if the backup lacks `VOLUME/PATH`, which cannot be copied; may be repeated")
	return cmd
}

func (s *session) save(ctx context.Context, p place, path string, flags copying) error {
	if _, err := os.Lstat(path); err == nil && !flags.force {
		return fmt.Errorf("%q is there already: --force replaces it", path)
	}
	if err := s.tidy(ctx, p); err != nil {
		return err
	}
	all, err := chosen(ctx, p, flags.names)
	if err != nil {
		return err
	}
	if err := settled(ctx, p, all, flags); err != nil {
		return err
	}
	var copied map[string]volumes.Copied
	err = s.around(ctx, p, all, flags, func(ctx context.Context) error {
		if err := s.finishRestores(ctx, p, all); err != nil {
			return err
		}
		return whole(path, func(f *os.File) error {
			about := volumes.Backup{Application: p.app, Made: time.Now().UTC()}
			copied, err = volumes.Save(ctx, p, about, all, f, s.progress())
			return err
		})
	})
	if copied == nil {
		return err
	}
	for _, v := range all {
		s.say("%s: %s, from %s", v.Name, shown(copied[v.Name].Size), cmp.Or(v.Machine, p.app))
	}
	s.say("%s has %s of %s", path, strings.Join(namesOf(all), ", "), p.app)
	return errors.Join(err, s.checkLeftOut(path, all, copied, flags.leftOut))
}

func (s *session) restore() *cobra.Command {
	var flags copying
	cmd := &cobra.Command{
		Use:   "restore APPLICATION FILE",
		Short: "Replace the contents of the volumes of an application from a backup file",
		Long: `Replace the contents of the volumes of an application by those in FILE, a backup of
this application or of a copy of it. The volumes must exist: deploy the application
first.

The whole file is checked before anything is changed. Each volume is unpacked beside
its old data, which is then replaced, so there must be space for both. If anything
fails, each volume has either its old data or the new, and the command reports which.
If the command is killed, the next backup or restore finishes its work. Volumes are
replaced one after another. Without --stop, a volume that a running container mounts
is refused.`,
		Example: "  toskose volume restore --stop thinking thinking.tar\n  toskose volume restore --stop --volume dbvolume thinking-two thinking.tar",
		Args:    cli.Args(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.locking.command = cli.Line(cmd, args)
			return s.at(cmd.Context(), args[0], func(p place) error {
				if _, err := os.Stat(args[1]); err != nil { // before the application is locked
					return cli.Unopened(fmt.Errorf("cannot read the backup: %w", err))
				}
				return s.exclusively(cmd.Context(), p, flags.locking, func(ctx context.Context) error { return s.load(ctx, p, args[1], flags) })
			})
		},
	}
	flags.register(cmd, "even if a running container has the volume")
	return cmd
}

func (s *session) load(ctx context.Context, p place, path string, flags copying) error {
	f, err := os.Open(path)
	if err != nil {
		return cli.Unopened(fmt.Errorf("cannot read the backup: %w", err))
	}
	defer f.Close()
	about, sizes, err := volumes.Check(f)
	if err != nil {
		return fmt.Errorf("%q: %w", path, err)
	}
	names := flags.names
	if len(names) == 0 {
		names = about.Volumes
	}
	for _, name := range names {
		if !slices.Contains(about.Volumes, name) {
			return fmt.Errorf("%q has no volume %q; it has %s", path, name, strings.Join(about.Volumes, ", "))
		}
	}
	if err := s.tidy(ctx, p); err != nil {
		return err
	}
	all, err := chosen(ctx, p, names)
	if err != nil {
		return err
	}
	if err := idle(all); err != nil && !flags.stop && !flags.force {
		return err
	}
	err = s.around(ctx, p, all, flags, func(ctx context.Context) error { return s.loadAll(ctx, p, f, all, sizes) })
	if err != nil {
		return err
	}
	s.say("%s has what %s had at %s", p.app, about.Application, about.Made.Format(time.RFC3339))
	return nil
}

// loadAll restores volumes, and prints for each which data it contains.
func (s *session) loadAll(ctx context.Context, p place, f *os.File, all []volumes.Volume, sizes map[string]volumes.Size) error {
	var done []string
	for _, v := range all {
		has, earlier, err := volumes.Load(ctx, p, f, v.Name, v, s.progress())
		s.sayEarlier(v, earlier)
		if has == tree.New {
			done = append(done, v.Name)
			s.say("%s: %s, to %s", v.Name, shown(sizes[v.Name]), cmp.Or(v.Machine, p.app))
		}
		if err == nil {
			continue
		}
		switch has {
		case tree.Old:
			err = fmt.Errorf("%w; it has its old data", err)
		case tree.New:
			err = fmt.Errorf("%w; it has the data of the backup", err)
		}
		if len(done) > 0 {
			err = fmt.Errorf("%w; restored: %s", err, strings.Join(done, ", "))
		}
		return err
	}
	return nil
}

// sayEarlier prints which data the volume contains after an earlier restore was killed.
func (s *session) sayEarlier(v volumes.Volume, has tree.Data) {
	switch has {
	case tree.Old:
		s.say("%s: an earlier restore was interrupted and is undone: it had the data from before that", v.Name)
	case tree.New:
		s.say("%s: an earlier restore was interrupted and is finished: it had the data of that backup", v.Name)
	}
}

// finishRestores finishes or undoes restores whose commands were killed.
func (s *session) finishRestores(ctx context.Context, p place, all []volumes.Volume) error {
	for _, v := range all {
		has, err := volumes.Recover(ctx, p, v)
		if err != nil {
			return err
		}
		s.sayEarlier(v, has)
	}
	return nil
}

// tidy undoes the partial changes of killed commands.
func (s *session) tidy(ctx context.Context, p place) error {
	started, err := p.Tidy(ctx)
	for _, name := range started {
		s.say("%s: an earlier command that was interrupted has stopped it; it is started", name)
	}
	return err
}

// settled refuses to finish a restore that was interrupted beneath a container that runs.
func settled(ctx context.Context, p place, all []volumes.Volume, flags copying) error {
	if flags.stop || idle(all) == nil {
		return nil
	}
	for _, v := range all {
		n, err := p.Note(ctx, v)
		if err != nil {
			return err
		}
		if n != (volumes.Note{}) {
			return fmt.Errorf("a restore of volume %q was interrupted: --stop finishes or undoes it before the backup", v.Name)
		}
	}
	return nil
}

// idle refuses volumes that running containers have.
func idle(all []volumes.Volume) error {
	for _, v := range all {
		for _, u := range v.Users {
			if u.Running {
				return fmt.Errorf("container %q has volume %q and runs: --stop stops what uses it, and starts it again", u.Name, v.Name)
			}
		}
	}
	return nil
}

func namesOf(all []volumes.Volume) []string {
	names := make([]string, len(all))
	for i, v := range all {
		names[i] = v.Name
	}
	return names
}

// progressStep is after how many bytes a line is printed.
const progressStep = 256 << 20

// progress prints a line now and then.
func (s *session) progress() func(string, volumes.Size) {
	printed := map[string]int64{}
	return func(name string, size volumes.Size) {
		if size.Bytes-printed[name] >= progressStep {
			printed[name] = size.Bytes
			s.say("%s: %s so far", name, shown(size))
		}
	}
}
