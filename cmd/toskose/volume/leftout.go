package volume

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toskose/toskose/internal/visible"
	"github.com/toskose/toskose/packager/volumes"
)

// checkLeftOut prints the entries that a backup omits or may contain in part. It fails if the user
// did not allow all omissions.
func (s *session) checkLeftOut(path string, all []volumes.Volume, copied map[string]volumes.Copied, allowed []string) error {
	lacks := 0
	for _, v := range all {
		one := copied[v.Name]
		for _, l := range one.LeftOut {
			name := v.Name + "/" + l.Name
			s.warn("%s: left out: %s", quoted(name), strings.ToValidUTF8(l.Why, "?"))
			if !l.System && !slices.Contains(allowed, name) && !slices.Contains(allowed, quoted(name)) {
				lacks++
			}
		}
		if one.Unnamed > 0 {
			s.warn("%s: %d more entries were left out", v.Name, one.Unnamed)
			lacks += one.Unnamed
		}
		if one.Changed {
			s.warn("%s: another program changed the volume during the backup, which may contain its changes in part (--stop prevents that)", v.Name)
		}
		if one.Unverified {
			s.warn("%s: not verified: the application's manager is of an older toskose, which does not count the copied files; package and deploy the application again", v.Name)
		}
	}
	if lacks > 0 {
		return fmt.Errorf("%q lacks %d entries that are listed above as left out: --allow-left-out VOLUME/PATH allows each", path, lacks)
	}
	return nil
}

func (s *session) warn(format string, args ...any) {
	fmt.Fprintln(s.streams.Err, visible.Lines(fmt.Sprintf(format, args...)))
}

// quoted returns a name in the form in which it is printed and --allow-left-out accepts it: in
// quotes if a terminal would not display it unchanged.
func quoted(name string) string {
	if q := strconv.QuoteToGraphic(name); q != `"`+name+`"` {
		return q
	}
	return name
}
