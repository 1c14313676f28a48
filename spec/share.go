package spec

import (
	"fmt"
	"path"
	"strings"
)

// Mode returns the mode of the mount as Compose writes it, such as "ro,z", or "".
func (s Share) Mode() string {
	var all []string
	if s.ReadOnly {
		all = append(all, "ro")
	}
	if s.Relabel != "" {
		all = append(all, s.Relabel)
	}
	return strings.Join(all, ",")
}

// ParseShare parses the host's side of a bind mount, PATH or PATH:MODE, where MODE is a list of ro, rw, z and Z. The path must be
// absolute: an application knows no folder that a relative path could start from.
func ParseShare(text string) (Share, error) {
	share := Share{Host: text}
	if i := strings.LastIndex(text, ":"); i >= 0 && !strings.Contains(text[i:], "/") {
		share.Host = text[:i]
		for mode := range strings.SplitSeq(text[i+1:], ",") {
			switch mode {
			case "ro":
				share.ReadOnly = true
			case "rw":
			case "z", "Z":
				share.Relabel = mode
			default:
				return Share{}, fmt.Errorf("%q is not a mode of a mount: ro, rw, z or Z, separated by commas", mode)
			}
		}
	}
	if !path.IsAbs(share.Host) {
		return Share{}, fmt.Errorf("%q is not an absolute path: no folder of the host is known that it could be relative to; write an absolute path, or use a volume", share.Host)
	}
	if share.Relabel != "" && strings.Contains(share.Host, ":") {
		return Share{}, fmt.Errorf("%q contains a colon, so it cannot have the mode %s", share.Host, share.Relabel)
	}
	return share, nil
}
