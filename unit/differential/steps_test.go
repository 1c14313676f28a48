package differential

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/toskose/toskose/internal/testunit"
)

// verbs do the steps. Those that only wait have no answer.
var verbs = map[string]func(*server, context.Context, step) (answer, error){
	"call":          (*server).call,
	"shape":         (*server).shape,
	"unordered":     (*server).unordered,
	"wait":          (*server).wait,
	"executed":      (*server).executed,
	"until":         (*server).until,
	"printed":       (*server).printed,
	"file":          (*server).file,
	"alive":         (*server).alive,
	"http":          (*server).http,
	"silent":        (*server).silent,
	"tail":          (*server).tail,
	"ctl":           (*server).ctl,
	"ctl-unordered": (*server).ctlUnordered,
	"ctl-until":     (*server).ctlUntil,
	"daemon":        (*server).daemon,
	"again":         (*server).again,
	"touch":         (*server).touch,
	"copy":          (*server).copy,
	"remove":        (*server).remove,
	"ended":         (*server).ended,
}

// play does all steps of a scenario with one of the two.
func play(ctx context.Context, k kind, s scenario) (answers []answer, err error) {
	v, err := start(ctx, k, s)
	if v != nil && v.process != nil {
		defer func() { err = errors.Join(err, v.end()) }()
	}
	if err != nil {
		return nil, err
	}
	if s.load {
		return v.loaded(ctx)
	}
	for _, one := range s.steps {
		do, ok := verbs[one.verb]
		if !ok {
			return nil, fmt.Errorf("no step is named %q", one.verb)
		}
		ctx, cancel := context.WithTimeout(ctx, patience)
		got, err := do(v, ctx, one)
		cancel()
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w\n%s", k.name, one.key, err, &v.output)
		}
		answers = append(answers, v.normal(got))
	}
	return answers, nil
}

// loaded says what a server made of its configuration. It may listen before it has seen
// everything, and give up on a request that a busy machine is slow to send.
func (v *server) loaded(ctx context.Context) ([]answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var all []answer
	var refused error
	err := poll(ctx, func() (bool, error) {
		select {
		case <-v.exited:
			all = []answer{{fmt.Sprintf("exit %d", v.code)}}
			return true, nil
		default:
		}
		var got answer
		if got, refused = v.call(ctx, step{rest: "supervisor.getAllConfigInfo"}); refused == nil {
			all = []answer{v.normal(got)}
		}
		return refused == nil, nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", v.kind.name, errors.Join(err, refused), &v.output)
	}
	return all, nil
}

// call calls a method.
func (v *server) call(ctx context.Context, s step) (answer, error) {
	value, status, err := v.rpc(ctx, s.rest)
	if status != "" || err != nil {
		return answer{status}, err
	}
	return flatten("", value), nil
}

func (v *server) shape(ctx context.Context, s step) (answer, error) {
	value, status, err := v.rpc(ctx, s.rest)
	if status != "" || err != nil {
		return answer{status}, err
	}
	return answer{shape(value)}, nil
}

// unordered calls a method whose answer is a list in the order in which
// things happened to end.
func (v *server) unordered(ctx context.Context, s step) (answer, error) {
	value, status, err := v.rpc(ctx, s.rest)
	if status != "" || err != nil {
		return answer{status}, err
	}
	if list, ok := value.([]any); ok {
		slices.SortFunc(list, func(a, b any) int { return slices.Compare(flatten("", a), flatten("", b)) })
	}
	return flatten("", value), nil
}

// info asks for a process.
func (v *server) info(ctx context.Context, name string) (map[string]any, error) {
	value, status, err := v.rpc(ctx, fmt.Sprintf("supervisor.getProcessInfo [%q]", name))
	if err != nil {
		return nil, err
	}
	info, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("it is not known: %s %v", status, flatten("", value))
	}
	return info, nil
}

// wait waits until a process is in one of some states.
func (v *server) wait(ctx context.Context, s step) (answer, error) {
	words := strings.Fields(s.rest)
	var last string
	err := poll(ctx, func() (bool, error) {
		info, err := v.info(ctx, words[0])
		state, _ := info["statename"].(scalar)
		last = state.text
		return slices.Contains(words[1:], state.text), err
	})
	if err != nil {
		return nil, fmt.Errorf("it is %s: %w", last, err)
	}
	return nil, nil
}

// executed waits until a process runs its command and is no copy of the server
// any more: what supervisord signals before that may be lost.
func (v *server) executed(ctx context.Context, s step) (answer, error) {
	own, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", v.pid))
	if err != nil {
		return nil, err
	}
	return nil, poll(ctx, func() (bool, error) {
		info, err := v.info(ctx, s.rest)
		pid, _ := info["pid"].(scalar)
		exe, _ := os.Readlink("/proc/" + pid.text + "/exe")
		return exe != "" && exe != own, err
	})
}

// until waits until a file holds a text.
func (v *server) until(ctx context.Context, s step) (answer, error) {
	name, text, _ := strings.Cut(s.rest, " ")
	if strings.HasPrefix(text, `"`) {
		var err error
		if text, err = strconv.Unquote(text); err != nil {
			return nil, err
		}
	}
	var data []byte
	err := poll(ctx, func() (bool, error) {
		data, _ = os.ReadFile(filepath.Join(v.dir, name))
		return bytes.Contains(data, []byte(text)), nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w; it holds %q", err, data)
	}
	return nil, nil
}

// printed waits until the server's own output holds a text, which is what a
// container's log shows.
func (v *server) printed(ctx context.Context, s step) (answer, error) {
	return nil, poll(ctx, func() (bool, error) { return strings.Contains(v.output.String(), s.rest), nil })
}

// file gives the lines of a file.
func (v *server) file(ctx context.Context, s step) (answer, error) {
	var data []byte
	err := poll(ctx, func() (bool, error) {
		data, _ = os.ReadFile(filepath.Join(v.dir, s.rest))
		return bytes.HasSuffix(data, []byte("\n")), nil
	})
	v.files[s.rest] = string(data)
	return normalOutput(string(data)), err
}

// again waits until a file that a program writes its process id to has another
// than at the last step that read it: the server has begun anew.
func (v *server) again(ctx context.Context, s step) (answer, error) {
	before, ok := v.files[s.rest]
	if !ok {
		return nil, fmt.Errorf("no step has read %s", s.rest)
	}
	return nil, poll(ctx, func() (bool, error) {
		data, _ := os.ReadFile(filepath.Join(v.dir, s.rest))
		return bytes.HasSuffix(data, []byte("\n")) && string(data) != before, nil
	})
}

// copy puts a file of the scenario in the place of another.
func (v *server) copy(_ context.Context, s step) (answer, error) {
	from, to, _ := strings.Cut(s.rest, " ")
	data, err := os.ReadFile(filepath.Join(v.dir, from))
	if err != nil {
		return nil, err
	}
	return nil, os.WriteFile(filepath.Join(v.dir, to), data, 0o644)
}

// remove removes a file.
func (v *server) remove(_ context.Context, s step) (answer, error) {
	return nil, os.Remove(filepath.Join(v.dir, s.rest))
}

// alive tells whether a process stays. A signal that ends it has been sent by
// now; one that got none is watched for a moment nevertheless.
func (v *server) alive(ctx context.Context, s step) (answer, error) {
	data, err := os.ReadFile(filepath.Join(v.dir, s.rest))
	if err != nil {
		return nil, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return nil, err
	}
	v.left = append(v.left, pid)
	moment, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if err := poll(moment, func() (bool, error) { return !stays(pid), nil }); err != nil {
		return answer{"alive"}, nil // that it stays is an answer
	}
	return answer{"gone"}, poll(ctx, func() (bool, error) { return !alive(pid), nil })
}

// ctl runs supervisorctl and gives what it prints and its exit code.
func (v *server) ctl(ctx context.Context, s step) (answer, error) {
	stdin, err := os.CreateTemp(v.dir, "stdin-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(stdin.Name())
	defer stdin.Close()
	if len(s.block) > 0 {
		if _, err := stdin.WriteString(strings.Join(s.block, "\n") + "\n"); err != nil {
			return nil, err
		}
		if _, err := stdin.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
	}
	var printed testunit.Output
	out, collected, err := collect(&printed)
	if err != nil {
		return nil, err
	}
	ran, err := v.supervisorctl(strings.Fields(s.rest), stdin, out)
	out.Close()
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = ran.signal(syscall.SIGKILL) })()
	<-ran.exited
	<-collected
	return append(normalOutput(printed.String()), fmt.Sprintf("exit %d", ran.code)), nil
}

// ctlUnordered is ctl for what ends in an order of its own: the lines are sorted.
func (v *server) ctlUnordered(ctx context.Context, s step) (answer, error) {
	lines, err := v.ctl(ctx, s)
	slices.Sort(lines)
	return lines, err
}

func (v *server) supervisorctl(args []string, stdin, stdout *os.File) (*process, error) {
	args = append([]string{"-c", filepath.Join(v.dir, "supervisord.conf")}, args...)
	return v.kind.python.run("supervisorctl", args, append(slices.Clone(v.env), "PYTHONUNBUFFERED=1"), v.dir, stdin, stdout)
}

// ctlUntil runs supervisorctl and interrupts it when it has printed a text.
func (v *server) ctlUntil(ctx context.Context, s step) (answer, error) {
	quoted, err := strconv.QuotedPrefix(s.rest)
	if err != nil {
		return nil, err
	}
	text, err := strconv.Unquote(quoted)
	if err != nil {
		return nil, err
	}
	read, stdin, err := os.Pipe() // stays open, as a terminal does
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	defer read.Close()
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	ran, err := v.supervisorctl(strings.Fields(s.rest[len(quoted):]), read, in)
	in.Close()
	if err != nil {
		return nil, err
	}
	if len(s.block) > 0 {
		if _, err := stdin.Write([]byte(strings.Join(s.block, "\n") + "\n")); err != nil {
			return nil, err
		}
	}
	stop := context.AfterFunc(ctx, func() { _ = out.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var printed bytes.Buffer
	interrupted := false
	piece := make([]byte, 4096)
	for {
		n, err := out.Read(piece)
		printed.Write(piece[:n])
		if !interrupted && strings.Contains(printed.String(), text) {
			interrupted = true
			_ = ran.signal(syscall.SIGINT)
		}
		if err != nil {
			break
		}
	}
	<-ran.exited
	if !interrupted {
		return nil, fmt.Errorf("it does not print %q, but %q", text, printed.String())
	}
	// What it printed between the text and the interrupt is chance, and so is
	// where the interrupt meets it, on which its exit code depends.
	first, _, _ := strings.Cut(printed.String(), "\n")
	return append(normalOutput(first), "... "+text), nil
}

// daemon sends a signal to the server itself.
func (v *server) daemon(_ context.Context, s step) (answer, error) {
	signals := map[string]syscall.Signal{
		"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "QUIT": syscall.SIGQUIT,
		"HUP": syscall.SIGHUP, "USR2": syscall.SIGUSR2,
	}
	sig, ok := signals[s.rest]
	if !ok {
		return nil, fmt.Errorf("no signal is named %q", s.rest)
	}
	return nil, v.signal(sig)
}

// touch makes an empty file.
func (v *server) touch(_ context.Context, s step) (answer, error) {
	return nil, os.WriteFile(filepath.Join(v.dir, s.rest), nil, 0o644)
}

// ended waits for the end of the server.
func (v *server) ended(ctx context.Context, _ step) (answer, error) {
	select {
	case <-v.exited:
		return answer{fmt.Sprintf("exit %d", v.code)}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
