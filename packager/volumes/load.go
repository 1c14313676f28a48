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

// Earlier is how a restore ended whose command was killed; empty: none was.
type Earlier = tree.Data

// finishing is how long a program may take to end after its command was interrupted: it
// finishes or undoes what it has begun.
const finishing = 2 * time.Minute

// ErrUnknown says that a restore has ended without saying which data the volume has.
var ErrUnknown = errors.New("it is not known which data the volume has: any `toskose volume backup` or `restore` of it finishes or undoes the restore, and says which")

// notStarted is why a program has not run beside a volume.
type notStarted struct{ error }

func (e notStarted) Unwrap() error { return e.error }

// Load replaces what is in a volume by what a file has of a volume of this name, which Check
// has read. has is the data that the volume has in the end, and earlier that of a restore
// before whose command was killed. told is called as it goes on. If ctx ends, Load returns once
// the restore is finished or undone.
func Load(ctx context.Context, p Place, file io.ReadSeeker, name string, into Volume, told func(volume string, so Size)) (has, earlier tree.Data, err error) {
	l := &load{place: p, into: into}
	if err := l.begin(ctx); err != nil {
		return "", "", fmt.Errorf("cannot restore volume %q: %w", into.Name, err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return tree.Old, l.earlier, err
	}
	err = l.run(ctx, func(to io.Writer) error {
		return feed(tree.NewReader(file), name, to, func(so Size) { told(into.Name, so) })
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
	left         bool          // the volume still has the restore's folder
	noted        error         // why it could not be noted that the volume is restored
	once         sync.Once     // closes:
	said         chan struct{} // when has is known
}

// begin notes a token, unless a restore that was interrupted has left one.
func (l *load) begin(ctx context.Context) (err error) {
	l.said = make(chan struct{})
	if l.note, err = l.place.Note(ctx, l.into); err != nil {
		return err
	}
	switch {
	case l.note.Token == "":
		l.note.Token = tree.NewToken()
	case l.note.Restored:
		l.earlier = tree.New
	default:
		l.earlier = tree.Old // unless the program finishes it
	}
	l.note.Restored = false
	return l.place.SetNote(ctx, l.into, l.note)
}

// run runs the program, and feeds it until all is fed or ctx ends.
func (l *load) run(ctx context.Context, feed func(io.Writer) error) error {
	running, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	from, to := io.Pipe()
	defer context.AfterFunc(ctx, func() {
		to.CloseWithError(ctx.Err())
		timer := time.AfterFunc(finishing, abort)
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

// confirm waits until the program has said which data the volume has, and lets it end.
func (l *load) confirm(to *io.PipeWriter, ended <-chan error) error {
	select {
	case <-l.said:
		if l.noted == nil && l.has == tree.New {
			if _, err := to.Write([]byte{'\n'}); err != nil { // it has ended, or the command was interrupted
				l.left = true
			}
		}
		to.Close()
		return errors.Join(<-ended, l.noted)
	case err := <-ended: // one of an earlier release says nothing
		to.Close()
		return err
	}
}

// Write takes the program's reports.
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

// take takes one report. That the volume has its new data is noted before the program may
// remove its own mark of that.
func (l *load) take(r tree.Report) {
	if r.Interrupted != "" && l.earlier != tree.New {
		l.earlier = r.Interrupted
	}
	if r.Has == "" {
		return
	}
	l.has, l.left = r.Has, r.Left
	if r.Has == tree.New {
		ctx, cancel := context.WithTimeout(context.Background(), tidying)
		defer cancel()
		l.note.Restored = true
		l.noted = l.place.SetNote(ctx, l.into, l.note)
	}
	l.once.Do(func() { close(l.said) })
}

// end removes the note, unless the volume still has the restore's folder. Where the program
// has not said which data the volume has, another one is asked.
func (l *load) end(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(ctx, finishing)
	defer cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.has == "" && err == nil: // a program of the release before
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
	case l.noted != nil: // the next command finds the program's mark
		return err
	}
	return errors.Join(err, l.place.SetNote(ctx, l.into, Note{}))
}

// Recover finishes or undoes the restore of a volume whose command was killed, if there was
// one, and returns the data that the volume has; empty: there was none.
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
		if err != nil && !errors.Is(err, ErrOlder) {
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

// feed writes the entries of a volume to a tar stream of its own.
func feed(r *tree.Reader, name string, to io.Writer, told func(Size)) error {
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
		told(size)
	}
}
