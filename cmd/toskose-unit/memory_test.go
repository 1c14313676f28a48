package main

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestMemoryIsGivenBackWhenIdleAfterTheStartAndAfterManyCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var begun atomic.Int64
		w := watchIdle(func() { begun.Add(1) })
		served := 0
		handler := w.count(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
		call := func(times int) {
			for range times {
				handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/healthz", nil))
			}
		}
		pass := func(d time.Duration) {
			time.Sleep(d) // of the bubble's clock
			synctest.Wait()
		}
		expect := func(want int64, when string) {
			t.Helper()
			if got := begun.Load(); got != want {
				t.Errorf("%s it was idle %d times, want %d", when, got, want)
			}
		}
		for range 5 {
			pass(idleTime - time.Millisecond)
			call(1)
			expect(0, "while somebody calls after the start")
		}
		pass(2 * idleTime)
		expect(1, "after the start")
		for range idleCalls - 1 {
			call(1)
			pass(time.Minute)
		}
		expect(1, "after a few calls now and then")
		call(idleCalls)
		expect(1, "right after many calls")
		pass(2 * idleTime)
		expect(2, "after many calls")
		call(idleCalls)
		w.stop()
		pass(2 * idleTime)
		expect(2, "at the end")
		if served != 5+3*idleCalls-1 {
			t.Errorf("%d calls were served", served)
		}
	})
}
