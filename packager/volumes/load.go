package volumes

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/toskose/toskose/packager/volumes/tree"
)

// finishTimeout is how long a program may take to exit after its command was interrupted: it finishes or undoes the restore.
const finishTimeout = 2 * time.Minute

// ErrUnknown is returned if a restore ended without reporting whether the volume has its old or new data.
var ErrUnknown = errors.New("it is not known which data the volume has: `toskose volume backup` or `restore` of it finishes or undoes the restore, and reports which")

// notStarted is the error of a program that could not be started beside a volume.
type notStarted struct{ error }

func (e notStarted) Unwrap() error { return e.error }

// Load replaces the contents of a volume with the backup of the volume with the given name. Check must have accepted the file.
// has is the data in the volume afterwards, and earlier the data left by an earlier restore whose command was killed. Load
// calls progress to report its progress. If ctx ends, Load returns once the restore is finished or undone.
func Load(ctx context.Context, p Place, file io.ReadSeeker, name string, into Volume, progress func(volume string, so Size)) (has, earlier tree.Data, err error) {
	l := &load{place: p, into: into}
	if err := l.begin(ctx); err != nil {
		return "", "", fmt.Errorf("cannot restore volume %q: %w", into.Name, err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return tree.Old, l.earlier, err
	}
	err = l.run(ctx, func(to io.Writer) error {
		return feed(tree.NewReader(file), name, to, func(size Size) { progress(into.Name, size) })
	})
	if err != nil {
		err = fmt.Errorf("cannot restore volume %q: %w", into.Name, err)
	}
	return l.has, l.earlier, err
}

// load is one restore of a volume.
type load struct {
	place Place
	into  Volume
	note  Note

	mu           sync.Mutex
	line         []byte
	has, earlier tree.Data
	left         bool          // the volume still contains the restore's folder
	noted        error         // error of recording that the volume is restored
	once         sync.Once     // closes reported
	reported     chan struct{} // closed when has is known
}

// begin records a token, or reuses the token of an interrupted restore.
func (l *load) begin(ctx context.Context) (err error) {
	l.reported = make(chan struct{})
	if l.note, err = l.place.Note(ctx, l.into); err != nil {
		return err
	}
	switch {
	case l.note.Token == "":
		l.note.Token = tree.NewToken()
	case l.note.Restored:
		l.earlier = tree.New
	default:
		l.earlier = tree.Old // unless the program finishes that restore
	}
	l.note.Restored = false
	return l.place.SetNote(ctx, l.into, l.note)
}

// run runs the program and feeds it until feed returns or ctx ends.
func (l *load) run(ctx context.Context, feed func(io.Writer) error) error {
	running, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	from, to := io.Pipe()
	defer context.AfterFunc(ctx, func() {
		to.CloseWithError(ctx.Err())
		timer := time.AfterFunc(finishTimeout, abort)
		context.AfterFunc(running, func() { timer.Stop() })
	})()
	ended := make(chan error, 1)
	go func() {
		err := l.place.Load(running, l.into, l.note.Token, from, l)
		from.CloseWithError(cmp.Or(err, io.ErrClosedPipe))
		ended <- err
	}()
	err := feed(to)
	var failed error
	if err != nil {
		to.CloseWithError(err)
		failed = <-ended
	} else {
		failed = l.confirm(to, ended)
	}
	if err == nil || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, failed) && failed != nil {
		err = failed
	}
	if ctx.Err() != nil && l.has != tree.New {
		err = ctx.Err()
	}
	return l.end(context.WithoutCancel(ctx), err)
}

// confirm waits until the program has reported which data the volume has, and lets it exit.
func (l *load) confirm(to *io.PipeWriter, ended <-chan error) error {
	select {
	case <-l.reported:
		if l.noted == nil && l.has == tree.New {
			if _, err := to.Write([]byte{'\n'}); err != nil { // it has exited, or the command was interrupted
				l.left = true
			}
		}
		to.Close()
		return errors.Join(<-ended, l.noted)
	case err := <-ended: // a program of an earlier release reports nothing
		to.Close()
		return err
	}
}

// Write parses the program's reports.
func (l *load) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line = append(l.line, p...)
	for {
		line, rest, whole := bytes.Cut(l.line, []byte{'\n'})
		if !whole {
			return len(p), nil
		}
		l.line = rest
		var r tree.Report
		if json.Unmarshal(line, &r) == nil {
			l.take(r)
		}
	}
}

// take handles one report. It records that the volume has its new data before the program may remove its own record of that.
func (l *load) take(r tree.Report) {
	if r.Interrupted != "" && l.earlier != tree.New {
		l.earlier = r.Interrupted
	}
	if r.Has == "" {
		return
	}
	l.has, l.left = r.Has, r.Left
	if r.Has == tree.New {
		ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
		defer cancel()
		l.note.Restored = true
		l.noted = l.place.SetNote(ctx, l.into, l.note)
	}
	l.once.Do(func() { close(l.reported) })
}

// end removes the note, unless the volume still contains the restore's folder. If the program has not reported which data the
// volume has, end runs the recovery program to find out.
func (l *load) end(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(ctx, finishTimeout)
	defer cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.has == "" && err == nil: // the program of the previous release reports nothing
		l.has = tree.New
	case l.has == "" && errors.As(err, new(notStarted)) && l.earlier == "":
		l.has = tree.Old
		return errors.Join(err, l.place.SetNote(ctx, l.into, Note{}))
	case l.has == "":
		has, failed := recoverNoted(ctx, l.place, l.into, l.note)
		l.has = has
		if failed != nil {
			return errors.Join(err, failed, ErrUnknown)
		}
		return err
	case l.left && l.noted == nil:
		_, failed := recoverNoted(ctx, l.place, l.into, l.note)
		return errors.Join(err, failed)
	case l.noted != nil: // the next command finds the program's record
		return err
	}
	return errors.Join(err, l.place.SetNote(ctx, l.into, Note{}))
}

// Recover finishes or undoes the restore of a volume whose command was killed, and returns the data in the volume. It returns
// "" if there was no such restore.
func Recover(ctx context.Context, p Place, v Volume) (tree.Data, error) {
	n, err := p.Note(ctx, v)
	if err != nil || n == (Note{}) {
		return "", err
	}
	has, err := recoverNoted(ctx, p, v, n)
	if err != nil {
		return "", fmt.Errorf("cannot finish the restore of volume %q that was interrupted: %w", v.Name, err)
	}
	return has, nil
}

// recoverNoted runs the program that finishes or undoes a restore.
func recoverNoted(ctx context.Context, p Place, v Volume, n Note) (tree.Data, error) {
	has := tree.Old
	if n.Restored {
		has = tree.New
	}
	if n.Token != "" {
		var out bytes.Buffer
		err := p.Recover(ctx, v, n.Token, &out)
		if err != nil && !errors.Is(err, errOlder) {
			return "", err
		}
		for r, d := (tree.Report{}), json.NewDecoder(&out); d.Decode(&r) == nil; r = (tree.Report{}) {
			if r.Interrupted != "" && !n.Restored {
				has = r.Interrupted
			}
		}
	}
	return has, p.SetNote(ctx, v, Note{})
}

// feed writes the entries of one volume of a backup as a separate tar stream.
func feed(r *tree.Reader, name string, to io.Writer, progress func(Size)) error {
	w, size := tar.NewWriter(to), Size{}
	for {
		h, err := r.Next()
		if err != nil {
			return err
		}
		if h.Name == lastEntry {
			return w.Close()
		}
		if h.Name == firstEntry {
			continue
		}
		volume, entry, err := split(h)
		if err != nil {
			return err
		}
		if volume != name {
			continue
		}
		entry.Format = tar.FormatPAX
		if err := w.WriteHeader(entry); err != nil {
			return err
		}
		if _, err := io.Copy(w, r); err != nil {
			return err
		}
		size.Entries, size.Bytes = size.Entries+1, size.Bytes+h.Size
		progress(size)
	}
}
