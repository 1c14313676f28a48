package engine

import (
	"net/http"
	"testing"

	"github.com/toskose/toskose/internal/leak"
)

func TestMain(m *testing.M) {
	leak.Main(m, http.DefaultClient.CloseIdleConnections)
}
