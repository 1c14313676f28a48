package ready

import (
	"testing"

	"github.com/toskose/toskose/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }
