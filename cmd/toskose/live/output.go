package live

import (
	"io"

	"github.com/spf13/cobra"
)

func (s *session) registerOutput(cmd *cobra.Command) { s.output.Register(cmd) }

// show prints what the manager answered.
func (s *session) show(answer any, people func(io.Writer)) error {
	return s.output.Show(s.streams.Out, answer, people)
}
