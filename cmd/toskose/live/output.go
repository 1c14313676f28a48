package live

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
)

const outputJSON = cli.FormJSON

func (s *session) registerOutput(cmd *cobra.Command) { s.output.Register(cmd) }

// show prints what the manager answered: as JSON, or as people read it.
func (s *session) show(answer any, people func(io.Writer)) error {
	return s.output.Show(s.streams.Out, answer, people)
}
