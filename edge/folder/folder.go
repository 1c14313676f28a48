// Package folder keeps a cluster of edge machines in a folder for git: the document, the file of each machine, and the token, which is
// not for git. A change is written completely or not at all, also if the process is killed. The goroutines that encrypt and write end
// before a function returns.
package folder

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/toskose/toskose/edge"
	"github.com/toskose/toskose/internal/filelock"
)

// The files of a folder, beside edge.DocumentFile.
const (
	nodesDir    = "nodes"
	networksDir = "networks"
	secretsDir  = "secrets"
	tokenFile   = secretsDir + "/token"
	sealedFile  = secretsDir + "/sealed.json"
	ignoreFile  = ".gitignore"
	lockFile    = ".lock"
)

// ignored keeps secrets and locks out of git.
const ignored = "/" + secretsDir + "/\n/" + lockFile + "\n*" + stagedSuffix + "\n"

// ErrLocked reports that another command is changing a folder.
var ErrLocked = errors.New("another command is changing it")

// Folder is a locked folder.
type Folder struct {
	Document    edge.Document
	TokenIsLost bool // the next change draws another token

	dir   string
	token string
	lock  *os.File
}

// Read returns the document of a folder.
func Read(dir string) (edge.Document, error) {
	path := filepath.Join(dir, edge.DocumentFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return edge.Document{}, fmt.Errorf("%q is not the folder of a cluster (%w): name it by --dir; `toskose cluster create` makes one", dir, err)
	}
	if err != nil {
		return edge.Document{}, fmt.Errorf("cannot read the cluster: %w", err)
	}
	return edge.Parse(path, data)
}

// Open locks a folder until it is closed. It completes or undoes a change that was interrupted.
func Open(dir string) (*Folder, error) {
	if _, err := os.Stat(filepath.Join(dir, edge.DocumentFile)); err != nil {
		_, err := Read(dir)
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot lock the folder %q: %w", dir, err)
	}
	f := &Folder{dir: dir, lock: lock}
	if err := f.open(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return f, nil
}

func (f *Folder) open() error {
	locked, err := filelock.TryLock(f.lock)
	if err == nil && !locked {
		err = ErrLocked
	}
	if err != nil {
		return fmt.Errorf("cannot lock the folder %q: %w", f.dir, err)
	}
	if err := recoverStaged(f.dir); err != nil {
		return fmt.Errorf("cannot complete an interrupted change of %q: %w", f.dir, err)
	}
	if f.Document, err = Read(f.dir); err != nil {
		return err
	}
	f.token, err = readToken(f.dir)
	f.TokenIsLost = errors.Is(err, fs.ErrNotExist)
	if err != nil && !f.TokenIsLost {
		return err
	}
	return nil
}

// Close unlocks the folder.
func (f *Folder) Close() error { return f.lock.Close() }

// tokenSize is the number of random bytes in a token.
const tokenSize = 32

func readToken(dir string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(tokenFile)))
	if err != nil {
		return "", fmt.Errorf("cannot read the token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if raw, err := hex.DecodeString(token); err != nil || len(raw) != tokenSize {
		return "", fmt.Errorf("%s is not a token of %d bytes in hexadecimal: remove it to draw another one", filepath.Join(dir, tokenFile), tokenSize)
	}
	return token, nil
}

func drawToken(random io.Reader) (string, error) {
	var raw [tokenSize]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return "", fmt.Errorf("cannot draw a token: %w", err)
	}
	return hex.EncodeToString(raw[:]), nil
}

// Create makes the folder of a new cluster, completely or not at all. It refuses an existing path.
func Create(dir string, d edge.Document, random io.Reader) (err error) {
	if _, err := os.Lstat(dir); err == nil {
		return fmt.Errorf("%q exists: name another folder by --dir", dir)
	}
	token, err := drawToken(random)
	if err != nil {
		return err
	}
	files, err := contents("", d, token)
	if err != nil {
		return err
	}
	made, err := os.MkdirTemp(filepath.Dir(filepath.Clean(dir)), "."+filepath.Base(dir)+"-*")
	if err != nil {
		return fmt.Errorf("cannot make the folder %q: %w", dir, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(made))
		}
	}()
	if err := writeAll(made, append(files, file{name: ignoreFile, data: []byte(ignored), mode: 0o644}), ""); err != nil {
		return fmt.Errorf("cannot write the folder %q: %w", dir, err)
	}
	if err := os.Chmod(made, 0o755); err != nil { //nolint:gosec // it is for git; the secrets have a folder of their own
		return err
	}
	return os.Rename(made, dir)
}

// Result lists the files that a change has written.
type Result struct {
	Written []string // names of files, from the folder
	Removed []string
	Drawn   bool // there is a new token
}

// Preview returns what Apply would write.
func (f *Folder) Preview(c edge.Change, random io.Reader) (Result, error) {
	p, err := f.prepare(c, random)
	return p.result, err
}

// Apply writes the result of a change.
func (f *Folder) Apply(c edge.Change, random io.Reader) (Result, error) {
	p, err := f.prepare(c, random)
	if err != nil {
		return Result{}, err
	}
	if err := commit(f.dir, p.files); err != nil {
		return Result{}, fmt.Errorf("cannot write the folder %q: %w", f.dir, err)
	}
	f.Document, f.token, f.TokenIsLost = c.Document, p.token, false
	return p.result, nil
}

// prepared is a change that was not written yet.
type prepared struct {
	files  []file
	token  string
	result Result
}

func (f *Folder) prepare(c edge.Change, random io.Reader) (p prepared, err error) {
	p.token = f.token
	if c.DrawToken || f.TokenIsLost {
		if p.token, err = drawToken(random); err != nil {
			return prepared{}, err
		}
	}
	files, err := contents(f.dir, c.Document, p.token)
	if err != nil {
		return prepared{}, err
	}
	p.result = Result{Drawn: p.token != f.token, Removed: superfluous(f.dir, files)}
	p.files = differing(f.dir, files)
	for _, one := range p.files {
		p.result.Written = append(p.result.Written, one.name)
	}
	return p, nil
}
