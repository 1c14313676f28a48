//go:build !windows

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/cmd/toskose/contexts"
)

// documented is what the shims call, in the folder and the environment of a page: arguments are a
// command of a block.
func documented() {
	ctx := context.Background()
	args := os.Args[2:]
	switch os.Args[1] {
	case "toskose":
		os.Exit(documentedToskose(ctx, args))
	case "curl":
		os.Exit(inSomeSituation(ctx, "", func() int { return documentedCurl(ctx, args) }))
	case "toskose-unit":
		os.Exit(documentedUnit(ctx, args))
	default:
		os.Exit(documentedElsewhere(ctx, os.Args[1], args))
	}
}

// Units are not for Windows, where main_test.go is.
func init() { commands["documented"] = documented }

func complain(format string, args ...any) int {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	return 1
}

// inSomeSituation tries what a page shows as the application stands and, where that is refused, with all of it up,
// with a component that somebody has stopped, configured, created, and with nothing there: each line is one of what can be done, and not the next one.
func inSomeSituation(ctx context.Context, dir string, try func() int) (code int) {
	for _, situation := range []string{"", "up", "held", "configured", "created", "down"} {
		if situation != "" {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv("DOCS_CONTROL")+"/"+situation+"/"+dir, http.NoBody)
			if err != nil {
				return complain("%v", err)
			}
			answer, err := http.DefaultClient.Do(req)
			if err != nil {
				return complain("%v", err)
			}
			text, _ := io.ReadAll(answer.Body)
			answer.Body.Close()
			if answer.StatusCode != http.StatusOK {
				return complain("%s: %s", situation, text)
			}
		}
		if code = try(); code == 0 {
			return 0
		}
	}
	return code
}

// needsAnEngine are the commands of which only the arguments are read here, as of those for clusters of machines. e2e runs them.
var needsAnEngine = []string{"toskose exec", "toskose deploy", "toskose undeploy", "toskose release", "toskose rotate", "toskose attach", "toskose detach", "toskose ls", "toskose volume ls", "toskose volume backup", "toskose volume restore"}

func documentedToskose(ctx context.Context, args []string) int {
	args = slices.DeleteFunc(args, regexp.MustCompile(`^\[[A-Z_]+\]$`).MatchString) // of a synopsis
	env := environment{in: os.Stdin, out: os.Stdout, err: os.Stderr, environ: os.Environ()}
	cmd, rest, err := newCommand(env).Find(args) //nolint:contextcheck // it is run with one below
	if err != nil {
		return complain("%v", err)
	}
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(args, word) })
	}
	elsewhere := has("--ca", "--cert", "direct", "-p") || slices.Contains(args, "--context") && slices.Contains(args, "ann") // a manager or a registry that is not here
	switch {
	case slices.Contains(needsAnEngine, cmd.CommandPath()) || elsewhere || strings.HasPrefix(cmd.CommandPath(), "toskose cluster "):
		return argumentsOf(cmd, rest)
	case strings.HasPrefix(cmd.CommandPath(), "toskose context "):
		if err := contexts.Deployed(env.environ, "thinking", "thinking-toskosed"); err != nil { // another line may have removed it
			return complain("%v", err)
		}
	case (!cmd.HasParent() || cmd.Name() == "package") && !has("--dry-run", "--version", "--help"):
		args = append(args, "--dry-run")
	case cmd.Flags().Lookup("manager") != nil:
		dir := "" // of a context
		if i := slices.Index(args, "--dir"); i >= 0 {
			dir = args[i+1]
		}
		return inSomeSituation(ctx, dir, func() int { return untilItPrints(ctx, has("--follow"), args, env) })
	}
	return run(ctx, args, env)
}

// argumentsOf reads the arguments of a command, and does nothing.
func argumentsOf(cmd *cobra.Command, rest []string) int {
	if err := cmd.ParseFlags(rest); err != nil {
		return complain("%s: %v", cmd.CommandPath(), err)
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		return complain("%s: %v", cmd.CommandPath(), err)
	}
	return 0
}

// untilItPrints runs a command; one that follows ends when it has printed something.
func untilItPrints(ctx context.Context, follows bool, args []string, env environment) int {
	if !follows {
		return run(ctx, args, env)
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	first := &firstWrite{to: env.out, then: end}
	env.out = first
	run(ctx, args, env)
	if !first.written {
		return complain("%q prints nothing", args)
	}
	return cli.ExitOK
}

type firstWrite struct {
	to      io.Writer
	then    func()
	written bool
}

func (w *firstWrite) Write(p []byte) (int, error) {
	w.written = true
	w.then()
	return w.to.Write(p)
}

// documentedCurl asks the manager or the application of the page.
func documentedCurl(ctx context.Context, args []string) int {
	args = append([]string{"-sS", "--fail-with-body", "--max-time", "60"}, args...)
	where := os.Getenv("DOCS_CONNECT")
	if slices.ContainsFunc(args, func(word string) bool { return strings.HasPrefix(word, "https://") }) {
		where = os.Getenv("DOCS_CONNECT_TLS")
	}
	for to := range strings.FieldsSeq(where) {
		args = append(args, "--connect-to", to)
	}
	if i := slices.Index(args, "-u"); i >= 0 { // it would ask for the password
		args = slices.Replace(args, i, i+2, "--netrc-file", "thinking-toskosed/secrets/netrc")
	}
	cmd := exec.CommandContext(ctx, os.Getenv("DOCS_CURL"), args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return complain("%v", err)
	}
	if err := cmd.Start(); err != nil {
		return complain("%v", err)
	}
	if slices.Contains(args, "-N") { // what it follows does not end
		line, err := bufio.NewReader(out).ReadString('\n')
		fmt.Print(line)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if err != nil || strings.HasPrefix(line, "{") { // a problem
			return 1
		}
		return 0
	}
	text, _ := io.ReadAll(out)
	err = cmd.Wait()
	if err != nil && strings.Contains(string(text), `"execution \"first\" has ended: succeeded"`) { // and cannot be cancelled
		return 0
	}
	if err != nil {
		return complain("curl: %v: %s", err, text)
	}
	fmt.Print(string(text))
	return 0
}

// documentedUnit runs the unit. Where it would serve it does so beside what follows, until the page has ended.
func documentedUnit(ctx context.Context, args []string) int {
	cmd := exec.CommandContext(ctx, os.Getenv("DOCS_UNIT"), args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if len(args) > 0 && args[0] == "-c" {
		log, err := os.Create("unit.log")
		if err != nil {
			return complain("%v", err)
		}
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Start(); err != nil {
			return complain("%v", err)
		}
		if err := os.WriteFile("unit.pid", fmt.Append(nil, cmd.Process.Pid), 0o600); err != nil {
			return complain("%v", err)
		}
		for range 1000 {
			if exec.CommandContext(ctx, os.Getenv("DOCS_UNIT"), "health", "-c", args[1]).Run() == nil {
				return 0
			}
		}
		return complain("the unit does not become healthy")
	}
	if err := cmd.Run(); err != nil {
		return complain("toskose-unit %q: %v", args, err)
	}
	return 0
}

// groups are commands of Docker and Kubernetes whose commands are the next word.
var groups = []string{"create", "image", "secret", "service", "stack", "volume"}

// documentedElsewhere looks for a command's flags in its help. What runs in an image of toskose is a command of toskose.
func documentedElsewhere(ctx context.Context, name string, args []string) int {
	if i := slices.IndexFunc(args, regexp.MustCompile(`(^|/)toskose:[0-9.]+$`).MatchString); i >= 0 && args[0] == "run" {
		if code := documentedToskose(ctx, args[i+1:]); code != 0 {
			return code
		}
		args = args[:i]
	}
	real, err := exec.LookPath(os.Getenv("DOCS_" + strings.ToUpper(name)))
	if err != nil {
		return 0 // it is not installed
	}
	var words, flags []string
	for i, word := range args {
		if strings.HasPrefix(word, "-") {
			flags = append(flags, word)
		} else if i > 0 && args[0] == "exec" {
			break // the rest is for the container
		} else if i == 0 || i == 1 && slices.Contains(groups, args[0]) {
			words = append(words, word)
		}
	}
	if name == "docker" && len(words) > 0 && words[0] == "compose" {
		return 0 // a plugin, which is not everywhere
	}
	help, err := exec.CommandContext(ctx, real, append(words, "--help")...).CombinedOutput()
	if err != nil {
		return complain("%s %q: %v: %s", name, words, err, help)
	}
	options := string(help)
	if name == "kubectl" {
		global, _ := exec.CommandContext(ctx, real, "options").CombinedOutput()
		options += string(global)
	}
	for _, flag := range flags {
		flag, _, _ = strings.Cut(flag, "=")
		if flag == "--rm" || flag == "--" || regexp.MustCompile(`^-[a-z]{2,}$`).MatchString(flag) {
			continue
		}
		if !regexp.MustCompile(`(?m)(^|[ ,])` + regexp.QuoteMeta(flag) + `([ ,=:]|$)`).MatchString(options) {
			return complain("%s %q has no %s:\n%s", name, words, flag, options)
		}
	}
	return 0
}
