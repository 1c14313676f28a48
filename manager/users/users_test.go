package users_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/docs"
	"github.com/toskose/toskose/manager/users"
)

func TestRolesIncludeEachOther(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		role, needed users.Role
		may          bool
	}{
		{users.Viewer, users.Viewer, true},
		{users.Viewer, users.Operator, false},
		{users.Viewer, users.Admin, false},
		{users.Operator, users.Viewer, true},
		{users.Operator, users.Operator, true},
		{users.Operator, users.Admin, false},
		{users.Admin, users.Viewer, true},
		{users.Admin, users.Admin, true},
		{"", users.Viewer, false},
		{"root", users.Viewer, false},
		{users.Admin, "", false},
		{"", "", false},
	} {
		if c.role.Includes(c.needed) != c.may {
			t.Errorf("%q for what needs %q: %v", c.role, c.needed, !c.may)
		}
	}
}

// list returns a file with ann, and her.
func list(t *testing.T) (users.List, users.User) {
	t.Helper()
	var l users.List
	if err := l.Add("ann", users.Operator, "a long password"); err != nil {
		t.Fatal(err)
	}
	ann, found := l.Find("ann")
	if !found {
		t.Fatal("who was added is not there")
	}
	return l, ann
}

func TestAFileIsWhatWasWritten(t *testing.T) {
	t.Parallel()
	l, ann := list(t)
	data, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := users.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if read, _ := again.Find("ann"); read != ann || strings.Contains(string(data), "a long password") {
		t.Errorf("%s", data)
	}
	if !ann.Verify("a long password") || ann.Verify("a long passwort") || ann.Verify("") || (users.User{}).Verify("") {
		t.Error("the wrong password is right, or the other way round")
	}
	if empty, err := (users.List{}).Encode(); err != nil || string(empty) != "{\n  \"users\": []\n}\n" {
		t.Errorf("%q %v", empty, err)
	}
}

// TestHashesOfOthersAreRead has one that the reference implementation of Argon2 wrote:
// `echo -n password | argon2 somesalt -id -t 2 -k 65536 -p 1 -e`, from its test vectors.
// TestTheFileIsAsTheDocumentationShowsIt compares the keys, and what a hash begins with.
func TestTheFileIsAsTheDocumentationShowsIt(t *testing.T) {
	t.Parallel()
	shown := docs.Shown(t, "docs/manager-access.md", `"users": [`)
	var l users.List
	if err := l.Add("ann", users.Operator, "correct horse"); err != nil {
		t.Fatal(err)
	}
	file := string(encoded(t, l))
	if !slices.Equal(docs.Keys(t, file), docs.Keys(t, shown)) {
		t.Errorf("the file is\n%s\nand the documentation shows\n%s", file, shown)
	}
	hash := regexp.MustCompile(`\$argon2id\$v=[0-9]+\$[a-z0-9=,]+\$`)
	if hash.FindString(shown) == "" || hash.FindString(file) != hash.FindString(shown) {
		t.Errorf("a hash begins with %s, and the documentation shows %s", hash.FindString(file), hash.FindString(shown))
	}
}

func TestHashesOfOthersAreRead(t *testing.T) {
	t.Parallel()
	u := users.User{Name: "x", Password: "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"}
	if !u.Verify("password") || u.Verify("Password") {
		t.Error("not verified")
	}
}

func TestAFileThatCannotBeMeantIsRefused(t *testing.T) {
	t.Parallel()
	_, ann := list(t)
	entry := func(name, role, hash string) string {
		return `{"name": "` + name + `", "role": "` + role + `", "password": "` + hash + `", "generation": "G"}`
	}
	for text, says := range map[string]string{
		"":                               "EOF",
		"[]":                             "cannot unmarshal",
		`{"users": []} {}`:               "goes on",
		`{"user": []}`:                   `unknown field "user"`,
		strings.Repeat(" ", 1<<20) + "{": "more than",
		`{"users": [` + entry("ann", "boss", ann.Password) + "]}":                                                        `user "ann": "boss" is not a role`,
		`{"users": [` + entry("a:b", "viewer", ann.Password) + "]}":                                                      `"a:b" cannot be the name of a user`,
		`{"users": [` + entry("ann", "viewer", "secret") + "]}":                                                          `user "ann": the hash`,
		`{"users": [` + entry("ann", "viewer", strings.Replace(ann.Password, "m=19456", "m=9999999", 1)):                 "EOF",
		`{"users": [` + entry("ann", "viewer", strings.Replace(ann.Password, "m=19456", "m=9999999", 1)) + "]}":          "it would take more than",
		`{"users": [` + entry("ann", "viewer", strings.Replace(ann.Password, "t=2", "t=0", 1)) + "]}":                    `user "ann": the hash`,
		`{"users": [` + entry("ann", "viewer", ann.Password) + "," + entry("ann", "admin", ann.Password) + "]}":          "twice",
		`{"users": [` + entry("x y", "viewer", ann.Password) + "," + entry("ann", "admin", "$argon2id$v=19$$$") + "]}":   `user "ann"`,
		`{"users": [` + entry("ann", "viewer", strings.Replace(ann.Password, "argon2id", "argon2i", 1)) + "], \"x\": 1}": "unknown field",
	} {
		l, err := users.Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), says) || len(l.Users) != 0 || strings.Contains(err.Error(), "argon2id$") {
			t.Errorf("%.80s: %v", text, err)
		}
	}
}

func TestChangesThatCannotBeMeantAreRefused(t *testing.T) {
	t.Parallel()
	l, ann := list(t)
	for says, err := range map[string]error{
		`already a user "ann"`: l.Add("ann", users.Viewer, "a long password"),
		"cannot be the name":   l.Add("-x", users.Viewer, "a long password"),
		"8 to 1024 bytes":      l.Add("bob", users.Viewer, "short"),
		"8 to 1024":            l.SetPassword("ann", strings.Repeat("x", 1025)),
		`there is no user "bo`: l.SetPassword("bob", "a long password"),
		"there is no user":     l.SetRole("bob", users.Admin),
		"no user":              l.Remove("bob"),
	} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	if same, _ := l.Find("ann"); same != ann || len(l.Users) != 1 {
		t.Errorf("%+v", l)
	}
}

func TestATokenEndsWithItsTimeItsKeyAndAnyChangeOfItsUser(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	before, ann := list(t)
	s := users.NewSigner([]byte("key"))
	token := s.Sign(users.ForPrograms, ann, now.Add(users.TokenLife))
	for name, c := range map[string]struct {
		change func(*users.List) error
		key    string
		at     time.Time
		good   bool
	}{
		"nothing":         {nil, "key", now, true},
		"nearly an hour":  {nil, "key", now.Add(users.TokenLife - time.Second), true},
		"an hour":         {nil, "key", now.Add(users.TokenLife), false},
		"another key":     {nil, "kex", now, false},
		"password":        {func(l *users.List) error { return l.SetPassword("ann", "another password") }, "key", now, false},
		"the same again":  {func(l *users.List) error { return l.SetPassword("ann", "a long password") }, "key", now, false},
		"role":            {func(l *users.List) error { return l.SetRole("ann", users.Admin) }, "key", now, false},
		"removed":         {func(l *users.List) error { return l.Remove("ann") }, "key", now, false},
		"another user":    {func(l *users.List) error { return l.Add("bob", users.Admin, "a long password") }, "key", now, true},
		"by hand":         {func(l *users.List) error { l.Users[0].Role = users.Admin; return nil }, "key", now, false},
		"hash by hand":    {func(l *users.List) error { l.Users[0].Password += "x"; return nil }, "key", now, false},
		"role, and back":  {twice(func(l *users.List, r users.Role) error { return l.SetRole("ann", r) }), "key", now, false},
		"removed and new": {again, "key", now, false},
	} {
		l, err := users.Parse(encoded(t, before))
		if err == nil && c.change != nil {
			err = c.change(&l)
		}
		if err != nil {
			t.Fatal(err)
		}
		u, expires, err := users.NewSigner([]byte(c.key)).Verify(users.ForPrograms, token, l, c.at)
		if (err == nil) != c.good || c.good && (u != ann || !expires.Equal(now.Add(users.TokenLife))) {
			t.Errorf("%s: %+v until %s, %v", name, u, expires, err)
		}
	}
}

// A session is in a cookie, which browsers send by themselves; a token is in no cookie.
func TestATokenOfOneUseIsNoneOfAnother(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	l, ann := list(t)
	s := users.NewSigner([]byte("key"))
	for _, made := range []users.Use{users.ForPrograms, users.ForBrowser} {
		for _, wanted := range []users.Use{users.ForPrograms, users.ForBrowser} {
			if _, _, err := s.Verify(wanted, s.Sign(made, ann, now.Add(time.Hour)), l, now); (err == nil) != (made == wanted) {
				t.Errorf("made for %q, shown as one for %q: %v", made, wanted, err)
			}
		}
	}
}

func twice(set func(*users.List, users.Role) error) func(*users.List) error {
	return func(l *users.List) error {
		if err := set(l, users.Admin); err != nil {
			return err
		}
		return set(l, users.Operator)
	}
}

func again(l *users.List) error {
	if err := l.Remove("ann"); err != nil {
		return err
	}
	return l.Add("ann", users.Operator, "a long password")
}

func encoded(t *testing.T, l users.List) []byte {
	t.Helper()
	data, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func FuzzTokensAndFilesOfStrangers(f *testing.F) {
	f.Add("toskose1.e30.AA", `{"users": []}`)
	s := users.NewSigner([]byte("key"))
	f.Fuzz(func(t *testing.T, token, file string) {
		l, err := users.Parse([]byte(file))
		if err != nil && len(l.Users) > 0 {
			t.Error("a list and an error")
		}
		for _, use := range []users.Use{users.ForPrograms, users.ForBrowser} {
			if u, _, err := s.Verify(use, token, l, time.Unix(0, 0)); err == nil {
				t.Errorf("%q is good for %+v", token, u)
			}
		}
	})
}
