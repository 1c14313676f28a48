package image

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheFirstLineSaysWhatRunsAScript(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][][]string{
		"":                             {{"/bin/sh"}},
		"echo\n":                       {{"/bin/sh"}},
		"\x7fELF":                      nil,
		"#!\n":                         nil,
		"#!sh\n":                       nil,
		"#!/bin/bash -e\n":             {{"/bin/bash"}},
		"#! /bin/sh\r\n":               {{"/bin/sh"}},
		"#!/usr/bin/env\n":             {{"/usr/bin/env"}},
		"#!/usr/bin/env node":          {{"/usr/bin/env"}, {"/bin/node", "/opt/node"}},
		"#!/usr/bin/env -S node --x\n": {{"/usr/bin/env"}, {"/bin/node", "/opt/node"}},
		"#!/usr/bin/env -i node\n":     {{"/usr/bin/env"}},
		"#!/usr/bin/env A=b node\n":    {{"/usr/bin/env"}},
		"#!/usr/bin/env ./node\n":      {{"/usr/bin/env"}},
		"#!/bin/env /opt/x/python\n":   {{"/bin/env"}, {"/opt/x/python"}},
	} {
		var got [][]string
		for _, i := range interpreters(line, "/bin:/opt") {
			got = append(got, i.files)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
	if all := interpreters("#!/usr/bin/env node\n", ""); len(all) != 2 || len(all[1].files) != 6 {
		t.Errorf("without a PATH: %v", all)
	}
	if all := interpreters("#!/usr/bin/env node\n", "/bin:."); len(all) != 1 {
		t.Errorf("with a relative PATH: %v", all)
	}
}
