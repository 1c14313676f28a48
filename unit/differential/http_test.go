package differential

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"
)

// shown are the headers that are compared.
var shown = []string{"Content-Type", "Www-Authenticate", "Connection", "X-Accel-Buffering"}

// silence is how long a request is waited for that supervisord never answers.
const silence = 15 * time.Second

var credentials = base64.StdEncoding.EncodeToString([]byte("u:p"))

// exchange sends an HTTP request as it stands and gives the answer's head.
// The caller reads the body, before ctx ends, and closes it.
func (v *server) exchange(ctx context.Context, request string) (*http.Response, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", "127.0.0.1:"+v.port)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	response, err := func() (*http.Response, error) {
		if _, err := io.WriteString(conn, request); err != nil {
			return nil, err
		}
		method, _, _ := strings.Cut(request, " ")
		return http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	}()
	if err != nil {
		stop()
		conn.Close()
		return nil, err
	}
	response.Body = &body{ReadCloser: response.Body, conn: conn, stop: stop}
	return response, nil
}

// body closes its connection.
type body struct {
	io.ReadCloser
	conn net.Conn
	stop func() bool
}

// Close closes the connection; what was not read is left.
func (b *body) Close() error {
	b.stop()
	return b.conn.Close()
}

// rpc calls a method, `NAME [ARGS]`. status is that of an answer other than 200.
func (v *server) rpc(ctx context.Context, call string) (value any, status string, err error) {
	method, params, _ := strings.Cut(call, " ")
	text, err := encodeCall(method, params)
	if err != nil {
		return nil, "", err
	}
	response, err := v.exchange(ctx, fmt.Sprintf(
		"POST /RPC2 HTTP/1.1\r\nHost: unit\r\nContent-Type: text/xml\r\nAuthorization: Basic %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		credentials, len(text), text))
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Sprintf("status %d", response.StatusCode), nil
	}
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, "", err
	}
	if value, err = decodeResponse(data); err != nil {
		return nil, "no XML", nil // that it cannot be read is an answer
	}
	return value, "", nil
}

// http sends the lines of a step. The body of a refusal is not compared.
func (v *server) http(ctx context.Context, s step) (answer, error) {
	head, content := s.block, ""
	for i, line := range s.block {
		if line == "" {
			head, content = s.block[:i], strings.Join(s.block[i+1:], "\r\n")
			break
		}
	}
	request := strings.NewReplacer(
		"AUTH", "Authorization: Basic "+credentials, "LENGTH", "Content-Length: "+strconv.Itoa(len(content)),
	).Replace(strings.Join(head, "\r\n")) + "\r\n\r\n" + content
	response, err := v.exchange(ctx, request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	lines := headLines(response)
	if response.StatusCode != http.StatusOK {
		return lines, nil
	}
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if value, err := decodeResponse(data); err == nil {
		return append(lines, flatten("", value)...), nil
	}
	return append(lines, normalOutput(string(data))...), nil
}

// silent is http for a request that one of the two never answers: that is an
// answer, too.
func (v *server) silent(ctx context.Context, s step) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	got, err := v.http(ctx, s)
	if ctx.Err() != nil {
		return answer{"no answer"}, nil
	}
	return got, err
}

func headLines(response *http.Response) answer {
	lines := answer{fmt.Sprintf("status %d", response.StatusCode)}
	for _, name := range shown {
		if text := response.Header.Get(name); text != "" {
			lines = append(lines, textproto.CanonicalMIMEHeaderKey(name)+": "+text)
		}
	}
	if response.StatusCode == http.StatusOK && response.ContentLength < 0 {
		lines = append(lines, fmt.Sprintf("of unknown length, chunked: %t", len(response.TransferEncoding) > 0))
	}
	return lines
}

// tail reads an answer that has no end until a text is in it: PATH until TEXT.
func (v *server) tail(ctx context.Context, s step) (answer, error) {
	path, text, _ := strings.Cut(s.rest, " until ")
	response, err := v.exchange(ctx, fmt.Sprintf(
		"GET %s HTTP/1.1\r\nHost: unit\r\nAuthorization: Basic %s\r\n\r\n", path, credentials))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	lines := headLines(response)
	if response.StatusCode != http.StatusOK {
		return lines, nil
	}
	var got bytes.Buffer
	piece := make([]byte, 4096)
	for !strings.Contains(got.String(), text) {
		n, err := response.Body.Read(piece)
		got.Write(piece[:n])
		if err != nil && !strings.Contains(got.String(), text) {
			return nil, fmt.Errorf("%w after %q", err, got.String())
		}
	}
	return append(lines, normalOutput(got.String())...), nil
}
