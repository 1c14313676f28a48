package attach

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/packager/attach"
)

const detachHelp = `Show the commands that restore the containers of an attached Compose project, and those
that remove what ` + "`toskose attach`" + ` wrote. It runs none of them.

FILE is the second Compose file, or the folder that -k wrote; default: compose.toskose.yml.`

// steps are the commands to enter.
type steps struct {
	*attach.Attachment
	Restore []string `json:"restore"`
	Remove  []string `json:"remove"`
}

func newDetach(env Environment) *cobra.Command {
	var asJSON bool
	var form cli.Form
	cmd := &cobra.Command{
		Use:                   "detach [OPTIONS] [FILE]",
		Short:                 "Show how to restore attached containers",
		Long:                  detachHelp,
		DisableFlagsInUseLine: true,
		Example:               "  toskose detach\n  toskose detach shop/compose.toskose.yml",
		Args:                  cli.Args(0, 1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return []string{"yml", "yaml"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(_ *cobra.Command, args []string) error {
			file := attach.DefaultFile
			if len(args) > 0 {
				file = args[0]
			}
			a, err := attach.Read(file)
			if errors.Is(err, fs.ErrNotExist) && len(args) == 0 {
				err = fmt.Errorf("%s does not exist here: name the file that toskose attach wrote", file)
			}
			if err != nil {
				return cli.Unopened(err)
			}
			s := stepsOf(a)
			if asJSON {
				form = cli.FormJSON
			}
			return form.Show(env.Streams.Out, s, func(out io.Writer) { printSteps(out, s) })
		},
	}
	form.Register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	_ = cmd.Flags().MarkHidden("json") // the spelling of earlier releases
	cmd.MarkFlagsMutuallyExclusive("json", "output")
	return cmd
}

func stepsOf(a *attach.Attachment) steps {
	s := steps{Attachment: a}
	restore, remove := a.Restore()
	for _, words := range restore {
		s.Restore = append(s.Restore, line(words))
	}
	for _, words := range remove {
		s.Remove = append(s.Remove, line(words))
	}
	s.Remove = append(s.Remove, line([]string{"toskose", "context", "rm", a.Project}))
	return s
}

func printSteps(out io.Writer, s steps) {
	fmt.Fprintln(out, "Restore the containers as they were:")
	for _, command := range s.Restore {
		fmt.Fprintln(out, "  "+command)
	}
	fmt.Fprintln(out, "\nThen remove what toskose attach wrote:")
	for _, command := range s.Remove {
		fmt.Fprintln(out, "  "+command)
	}
}
