package main

import (
	"runtime/debug"
	"testing"
)

func TestTheVersionIsWhatMakeOrTheGoCommandKnows(t *testing.T) {
	t.Parallel()
	info := func(version string, settings ...string) *debug.BuildInfo {
		i := &debug.BuildInfo{Main: debug.Module{Version: version}}
		for at := 0; at < len(settings); at += 2 {
			i.Settings = append(i.Settings, debug.BuildSetting{Key: settings[at], Value: settings[at+1]})
		}
		return i
	}
	const revision = "0123456789abcdef0123456789abcdef01234567"
	for name, tt := range map[string]struct {
		version, commit string
		info            *debug.BuildInfo
		want            build
	}{
		"make":                {"v1.2.3", "abc", info("v9", "vcs.revision", revision), build{"v1.2.3", "abc"}},
		"go install @VERSION": {"", "", info("v1.2.3"), build{"v1.2.3", ""}},
		"go build":            {"", "", info("(devel)", "vcs.revision", revision, "vcs.modified", "false"), build{"dev", "0123456789ab"}},
		"go build, changed":   {"", "", info("(devel)", "vcs.revision", revision, "vcs.modified", "true"), build{"dev", "0123456789ab-dirty"}},
		"go test":             {"", "", info(""), build{"dev", ""}},
		"nothing":             {"", "", nil, build{"dev", ""}},
	} {
		if got := buildOf(tt.version, tt.commit, tt.info); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}
