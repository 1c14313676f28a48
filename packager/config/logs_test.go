package config_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/toskose/toskose/internal/dice"
	"github.com/toskose/toskose/packager/config"
)

// most is what the log files of a stream may take: each is larger than its size by a
// piece of 256 KiB, and has an index of a quarter, or of 64 KiB.
func most(l config.LogFile) int64 {
	size := l.Bytes + 256<<10
	return int64(l.Backups+1) * (size + max(size/4, 64<<10))
}

func TestTheLogFilesOfAContainerStayWithinItsTotal(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(dice.Seed(), 7))
	refused := 0
	for range 2000 {
		n := config.Node{Components: map[string]config.Component{}}
		total := int64(256 << 20)
		if r.IntN(2) == 0 {
			total = int64(12+r.IntN(500)) << 20
			n.Logs.Total = fmt.Sprint(total)
		}
		some := func() (l config.Logs) {
			if r.IntN(3) == 0 {
				l.Size = fmt.Sprint(64<<10 + r.IntN(1<<20))
			}
			if r.IntN(3) == 0 {
				l.Files = 1 + r.IntN(4)
			}
			return l
		}
		var operations [][2]string
		for i := range r.IntN(4) {
			c := config.Component{Logs: some(), Operations: map[string]config.Operation{}}
			for j := range r.IntN(8) {
				name := fmt.Sprint("a.", j)
				c.Operations[name] = config.Operation{Logs: some()}
				operations = append(operations, [2]string{fmt.Sprint(i), name})
			}
			n.Components[fmt.Sprint(i)] = c
		}
		files, needed, enough := n.LogFiles(operations)
		if !enough {
			refused++
			if n.Logs.Total == "" || needed <= total {
				t.Fatalf("refused with a total of %q, of which %d are needed", n.Logs.Total, needed)
			}
			continue
		}
		sum, shares := most(config.UnitLog), false
		for i, f := range files {
			sum += 2 * most(f)
			own, of := n.Components[operations[i][0]].Operations[operations[i][1]].Logs, n.Components[operations[i][0]].Logs
			size, files := own.Size, own.Files
			if size == "" {
				size = of.Size
			}
			if files == 0 {
				files = of.Files
			}
			if files == 0 {
				files = 3
			}
			shares = shares || size == ""
			if f.Backups != files-1 || f.Bytes < 64<<10 || size != "" && fmt.Sprint(f.Bytes) != size {
				t.Fatalf("%v of %+v in %+v is %+v", operations[i], own, of, f)
			}
		}
		if sum > total && n.Logs.Total != "" || sum > max(total, needed) {
			t.Fatalf("the files take %d of %d, of which %d are needed", sum, total, needed)
		}
		if shares && sum < total*9/10 && total-sum > 4<<20 {
			t.Fatalf("the files take %d of %d, though some share what is left", sum, total)
		}
	}
	if refused == 0 {
		t.Error("no total was too small")
	}
}
