package config

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// users looks up users in /etc/passwd and /etc/group. A container may lack both
// files, and a static binary has no other source.
type users struct {
	passwd [][]string // fields of each line
	group  [][]string
}

func readUsers(files fs.FS) *users {
	return &users{passwd: readFields(files, "etc/passwd", 7), group: readFields(files, "etc/group", 4)}
}

func readFields(files fs.FS, name string, fields int) [][]string {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return nil
	}
	var lines [][]string
	for line := range strings.Lines(string(data)) {
		if parts := strings.Split(strings.TrimRight(line, "\r\n"), ":"); len(parts) >= fields {
			lines = append(lines, parts)
		}
	}
	return lines
}

// user finds a user by name or number. A number that /etc/passwd does not have is a
// user of group 0, as for container engines.
func (u *users) user(name string) (*User, error) {
	number, numberErr := strconv.ParseUint(name, 10, 31)
	for _, line := range u.passwd {
		uid, err := strconv.ParseUint(line[2], 10, 31)
		if err != nil || (line[0] != name && (numberErr != nil || uid != number)) {
			continue
		}
		gid, err := strconv.ParseUint(line[3], 10, 31)
		if err != nil {
			return nil, fmt.Errorf("names user %q, whose group in /etc/passwd is not a number", name)
		}
		return &User{Name: line[0], UID: int(uid), GID: int(gid), Groups: u.groups(line[0], int(gid))}, nil
	}
	if numberErr == nil {
		return &User{UID: int(number)}, nil
	}
	return nil, fmt.Errorf("names user %q, which is not in /etc/passwd", name)
}

func (u *users) groups(user string, primary int) []int {
	list := []int{primary}
	for _, line := range u.group {
		gid, err := strconv.ParseUint(line[2], 10, 31)
		if err == nil && slices.Contains(strings.Split(line[3], ","), user) {
			list = append(list, int(gid))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// gid finds a group by name or number.
func (u *users) gid(name string) (int, error) {
	if number, err := strconv.ParseUint(name, 10, 31); err == nil {
		return int(number), nil
	}
	for _, line := range u.group {
		if gid, err := strconv.ParseUint(line[2], 10, 31); err == nil && line[0] == name {
			return int(gid), nil
		}
	}
	return 0, fmt.Errorf("names group %q, which is not in /etc/group", name)
}

// home returns the home directory of a user.
func (u *users) home(name string) (string, bool) {
	for _, line := range u.passwd {
		if line[0] == name {
			return line[5], true
		}
	}
	return "", false
}
