package volumes

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/packager/volumes/tree"
)

// A backup is a tar archive: a description, the files of each volume in a folder with its name, and a summary with a digest.
// The summary detects truncated and modified backups.
const (
	firstEntry = "toskose-backup.json"
	lastEntry  = "toskose-backup-end.json"
)

// Backup describes a backup file.
type Backup struct {
	Format      int       `json:"format"`
	Application string    `json:"application"`
	Made        time.Time `json:"made"`
	Volumes     []string  `json:"volumes"`
}

const format = 1

// Size is the size of a volume's contents.
type Size = tree.Size

// end is the content of the last entry.
type end struct {
	Volumes map[string]Size           `json:"volumes"`
	Digest  string                    `json:"sha256"`
	LeftOut map[string][]tree.LeftOut `json:"left_out,omitempty"` // by volume
}

// Copied describes the copy of a volume in a backup.
type Copied struct {
	Size
	LeftOut    []tree.LeftOut // entries missing in the backup
	Unnamed    int            // number of further missing entries that are not listed
	Changed    bool           // another program changed the volume during the backup
	Unverified bool           // the manager's image is of a release whose program sends no summary
}

// digest hashes entries and their contents.
type digest struct{ hash.Hash }

func (d digest) entry(h *tar.Header) {
	fmt.Fprintf(d, "%q %c %q %o %d %d %d %d\n", h.Name, h.Typeflag, h.Linkname, h.Mode, h.Uid, h.Gid, h.Size, h.ModTime.UnixNano())
	for _, key := range slices.Sorted(maps.Keys(h.PAXRecords)) {
		if strings.HasPrefix(key, "SCHILY.xattr.") {
			fmt.Fprintf(d, "%q=%q\n", key, h.PAXRecords[key])
		}
	}
}

func (d digest) sum() string { return hex.EncodeToString(d.Sum(nil)) }

// Save writes the volumes of an application to a file. It calls progress to report its progress.
func Save(ctx context.Context, p Place, about Backup, all []Volume, out io.Writer, progress func(volume string, so Size)) (map[string]Copied, error) {
	w, sums := tar.NewWriter(out), digest{sha256.New()}
	about.Format, about.Volumes = format, namesOf(all)
	if err := writeJSON(w, firstEntry, about, about.Made); err != nil {
		return nil, err
	}
	copied, last := map[string]Copied{}, end{Volumes: map[string]Size{}, LeftOut: map[string][]tree.LeftOut{}}
	for _, v := range all {
		one, err := saveOne(ctx, p, v, w, sums, progress)
		if err != nil {
			return nil, fmt.Errorf("cannot back up volume %q: %w", v.Name, err)
		}
		copied[v.Name], last.Volumes[v.Name] = one, one.Size
		if len(one.LeftOut) > 0 {
			last.LeftOut[v.Name] = one.LeftOut
		}
	}
	last.Digest = sums.sum()
	if err := writeJSON(w, lastEntry, last, about.Made); err != nil {
		return nil, err
	}
	return copied, w.Close()
}

func writeJSON(w *tar.Writer, name string, v any, made time.Time) error {
	data, err := json.Marshal(v)
	if err == nil {
		err = w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(data)), ModTime: made.Truncate(time.Second), Format: tar.FormatPAX})
	}
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

// saveOne copies the entries of a volume, prefixed with its name, and compares them with the counts of the program beside the
// volume.
func saveOne(ctx context.Context, p Place, v Volume, w *tar.Writer, sums digest, progress func(string, Size)) (one Copied, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	from, to := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := p.Save(ctx, v, to)
		to.CloseWithError(err)
		ended <- err
	}()
	r := tree.NewReader(from)
	for err == nil {
		var h *tar.Header
		if h, err = r.Next(); err != nil {
			break
		}
		if err = tree.Check(h); err == nil {
			err = copyEntry(w, h, r, sums, v.Name+"/")
		}
		one.Entries, one.Bytes = one.Entries+1, one.Bytes+h.Size
		progress(v.Name, one.Size)
	}
	if errors.Is(err, io.EOF) {
		_, err = io.Copy(io.Discard, from) // padding after the end of the archive
	}
	if err != nil {
		cancel()
	}
	from.CloseWithError(err)
	if failed := <-ended; failed != nil && (err == nil || errors.Is(err, tree.ErrCut) || errors.Is(err, failed)) {
		return one, failed // the cause of the truncated stream
	}
	if err != nil {
		return one, err
	}
	return one, one.verify(r.Summary())
}

// verify compares the received entries with a summary.
func (c *Copied) verify(s *tree.Summary) error {
	if s == nil {
		c.Unverified = true
		return nil
	}
	c.LeftOut, c.Unnamed, c.Changed = s.LeftOut, s.Unnamed, s.Changed
	return s.Verify(c.Size)
}

// copyEntry writes a renamed entry and adds it to the digest.
func copyEntry(w *tar.Writer, h *tar.Header, content io.Reader, sums digest, prefix string) error {
	out := *h
	out.Name, out.Format = prefix+strings.TrimPrefix(h.Name, "./"), tar.FormatPAX
	if h.Typeflag == tar.TypeLink {
		out.Linkname = prefix + strings.TrimPrefix(h.Linkname, "./")
	}
	sums.entry(&out)
	if err := w.WriteHeader(&out); err != nil {
		return err
	}
	_, err := io.Copy(io.MultiWriter(w, sums), content)
	return err
}

// Check reads a backup to its end and returns its description and sizes. The error explains why it is not a valid, complete
// backup.
func Check(file io.Reader) (about Backup, sizes map[string]Size, err error) {
	r, sums := tree.NewReader(file), digest{sha256.New()}
	if about, err = readAbout(r); err != nil {
		return about, nil, err
	}
	sizes = map[string]Size{}
	for _, name := range about.Volumes {
		sizes[name] = Size{}
	}
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			err = tree.ErrCut // the last entry is missing
		}
		if err != nil {
			return about, nil, fmt.Errorf("it is not a complete backup: %w", err)
		}
		if h.Name == lastEntry {
			return about, sizes, checkEnd(r, sizes, sums)
		}
		name, _, err := split(h)
		size, ok := sizes[name]
		if err == nil && !ok {
			err = fmt.Errorf("entry %q belongs to none of its volumes", h.Name)
		}
		if err != nil {
			return about, nil, err
		}
		sums.entry(h)
		if _, err := io.Copy(sums, r); err != nil {
			return about, nil, fmt.Errorf("it is not a complete backup: %w", err)
		}
		sizes[name] = Size{Entries: size.Entries + 1, Bytes: size.Bytes + h.Size}
	}
}

// maxDescription is the maximum size of the first and the last entry.
const maxDescription = 1 << 20

func readAbout(r *tree.Reader) (about Backup, err error) {
	h, err := r.Next()
	if err != nil || h.Name != firstEntry {
		return about, errors.New("it is not a backup that `toskose volume backup` has made")
	}
	if err := json.NewDecoder(io.LimitReader(r, maxDescription)).Decode(&about); err != nil {
		return about, fmt.Errorf("cannot read its description: %w", err)
	}
	if about.Format != format {
		return about, fmt.Errorf("it has format %d, and this toskose reads %d", about.Format, format)
	}
	return about, nil
}

func checkEnd(r *tree.Reader, sizes map[string]Size, sums digest) error {
	var last end
	if err := json.NewDecoder(io.LimitReader(r, maxDescription)).Decode(&last); err != nil {
		return fmt.Errorf("it is not a complete backup: %w", err)
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("it is not a complete backup: %w", errors.Join(err, tree.ErrCut))
	}
	if !maps.Equal(last.Volumes, sizes) || last.Digest != sums.sum() {
		return errors.New("it was changed after it was made: its contents do not match its description")
	}
	return nil
}

// split returns the volume of an entry, and the entry with its name in that volume.
func split(h *tar.Header) (volume string, entry *tar.Header, err error) {
	volume, name, ok := strings.Cut(h.Name, "/")
	if !ok {
		return "", nil, fmt.Errorf("entry %q belongs to none of its volumes", h.Name)
	}
	out := *h
	out.Name = "./" + name
	if h.Typeflag == tar.TypeLink {
		if out.Linkname, ok = strings.CutPrefix(h.Linkname, volume+"/"); !ok {
			return "", nil, fmt.Errorf("entry %q is a link to %q, which is not in its volume", h.Name, h.Linkname)
		}
	}
	if strings.HasPrefix(name, "/") {
		return "", nil, fmt.Errorf("entry %q is not below the volume", h.Name)
	}
	return volume, &out, tree.Check(&out)
}
