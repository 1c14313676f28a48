package main

import (
	"maps"
	"strings"
	"testing"
)

func TestFlagsAreReadAsGetoptReadsThem(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		file, overrides string // "key=value key=value"
		err             string
	}{
		"":                             {},
		"--":                           {},
		"-c a":                         {file: "a"},
		"-ca":                          {file: "a"},
		"-nc a":                        {file: "a", overrides: "nodaemon=true"},
		"-nsktca":                      {file: "a", overrides: "nodaemon=true silent=true nocleanup=true strip_ansi=true"},
		"-configuration":               {file: "onfiguration"},
		"--configuration a":            {file: "a"},
		"--configuration=a=b":          {file: "a=b"},
		"--conf a --nod":               {file: "a", overrides: "nodaemon=true"},
		"-u u -m 077 -d / -l l -y 1MB": {overrides: "user=u umask=077 directory=/ logfile=l logfile_maxbytes=1MB"},
		"-z 3 -e debug -j p -i i":      {overrides: "logfile_backups=3 loglevel=debug pidfile=p identifier=i"},
		"-q q -a 10 --minprocs=4":      {overrides: "childlogdir=q minfds=10 minprocs=4"},
		"--logfile=":                   {overrides: "logfile="},
		"--logfile l --logfile_b 1":    {overrides: "logfile=l logfile_backups=1"},
		"--profile_options cumulative": {},
		"-x":                           {err: "unknown flag -x"},
		"-nx":                          {err: "unknown flag -x"},
		"--nonsense":                   {err: "unknown flag --nonsense"},
		"--no":                         {err: "--no may be --nodaemon or --nocleanup"},
		"--nodaemon=1":                 {err: "--nodaemon takes no value"},
		"-c":                           {err: "-c needs a value"},
		"-nc":                          {err: "-c needs a value"},
		"--pidfile":                    {err: "--pidfile needs a value"},
		"-c a -c b":                    {err: "-c is given twice"},
		"-n --nodaemon":                {err: "--nodaemon is given twice"},
		"-n a":                         {err: "too many arguments: a"},
		"-n -- a b":                    {err: "too many arguments: a b"},
		"-":                            {err: "too many arguments: -"},
	} {
		f, err := parseFlags(strings.Fields(line))
		if want.err != "" {
			if err == nil || err.Error() != want.err {
				t.Errorf("%q: %v, want %s", line, err, want.err)
			}
			continue
		}
		overrides := map[string]string{}
		for pair := range strings.FieldsSeq(want.overrides) {
			key, value, _ := strings.Cut(pair, "=")
			overrides[key] = value
		}
		if err != nil || f.file != want.file || !maps.Equal(f.overrides, overrides) {
			t.Errorf("%q: file %q, overrides %v, error %v", line, f.file, f.overrides, err)
		}
	}
	for _, line := range []string{"-h", "-?", "--help", "-nh"} {
		if f, err := parseFlags(strings.Fields(line)); err != nil || !f.help {
			t.Errorf("%q: %+v, %v", line, f, err)
		}
	}
	for _, line := range []string{"-v", "--version"} {
		if f, err := parseFlags(strings.Fields(line)); err != nil || !f.version {
			t.Errorf("%q: %+v, %v", line, f, err)
		}
	}
}
