package tree

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// xattrRecord is the prefix of the PAX records of extended attributes.
const xattrRecord = "SCHILY.xattr."

// The key of a PAX record ends at the first "=". GNU tar uses the same escapes in the names of attributes.
var (
	escapeAttribute   = strings.NewReplacer("%", "%25", "=", "%3D")
	unescapeAttribute = strings.NewReplacer("%25", "%", "%3D", "=")
)

// maxAttribute is Linux's size limit of a list of names, and of a value.
const maxAttribute = 64 << 10

// maxAttributes is the maximum number of bytes of one file's attributes in a stream: a PAX header has at most 1 MiB.
const maxAttributes = 512 << 10

// attributes returns the extended attributes of a file as PAX records. A path below /proc/self/fd identifies the file without
// following links. problems lists attributes that cannot be read.
func attributes(path string, follow bool) (records map[string]string, problems []string, err error) {
	list, get := unix.Llistxattr, unix.Lgetxattr
	if follow {
		list, get = unix.Listxattr, unix.Getxattr
	}
	names := make([]byte, maxAttribute)
	n, err := list(path, names)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOENT) || n == 0 {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cannot list the extended attributes: %w", err)
	}
	records, total := map[string]string{}, 0
	for name := range strings.SplitSeq(strings.TrimRight(string(names[:n]), "\x00"), "\x00") {
		value := make([]byte, maxAttribute)
		n, err := get(path, name, value)
		key := xattrRecord + escapeAttribute.Replace(name)
		switch {
		case errors.Is(err, unix.ENODATA), errors.Is(err, unix.ENOENT):
			continue // removed since it was listed
		case err != nil:
			problems = append(problems, fmt.Sprintf("cannot read its extended attribute %q: %v", name, err))
			continue
		case total+len(key)+n > maxAttributes:
			problems = append(problems, fmt.Sprintf("its extended attribute %q is left out: all of them have more than %d bytes", name, maxAttributes))
			continue
		}
		total += len(key) + n
		records[key] = string(value[:n])
	}
	return records, problems, nil
}

// setAttributes sets the extended attributes in PAX records, as far as the file system and the process's privileges allow.
func setAttributes(path string, follow bool, records map[string]string) error {
	set := unix.Lsetxattr
	if follow {
		set = unix.Setxattr
	}
	for record, value := range records {
		name, ok := strings.CutPrefix(record, xattrRecord)
		if !ok {
			continue
		}
		name = unescapeAttribute.Replace(name)
		if err := set(path, name, []byte(value), 0); err != nil && !errors.Is(err, unix.ENOTSUP) && !errors.Is(err, unix.EPERM) {
			return fmt.Errorf("cannot set the extended attribute %q: %w", name, err)
		}
	}
	return nil
}
