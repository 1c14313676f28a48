package observe

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// maxMetrics is the maximum size of metrics.
const maxMetrics = 32 << 20

// Metrics reads Longhorn's metrics. They do not have the time since when a volume is degraded.
func Metrics(ctx context.Context, client *http.Client, url string) ([]Volume, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("cannot read the metrics: %w", err)
	}
	answer, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("cannot read the metrics: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("cannot read the metrics: %s responds with %s", url, answer.Status)
	}
	all, err := parseMetrics(io.LimitReader(answer.Body, maxMetrics))
	if err != nil {
		return nil, fmt.Errorf("cannot read the metrics of %s: %w", url, err)
	}
	return all, nil
}

// parseMetrics reads longhorn_volume_state and longhorn_volume_robustness in both of their forms: the number is the value, or there is
// a line for each word in the label state, and the value 1 marks the current one.
func parseMetrics(r io.Reader) ([]Volume, error) {
	found := map[string]*Volume{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, labels, value, ok := parseSample(lines.Text())
		if !ok || name != "longhorn_volume_state" && name != "longhorn_volume_robustness" || labels["volume"] == "" {
			continue
		}
		v := found[labels["volume"]]
		if v == nil {
			v = &Volume{Name: labels["volume"], State: wordOf(unknownWord, states), Robustness: wordOf(unknownWord, robustness), Namespace: labels["pvc_namespace"], Claim: labels["pvc"]}
			found[v.Name] = v
		}
		into, numbers := &v.State, states
		if name == "longhorn_volume_robustness" {
			into, numbers = &v.Robustness, robustness
		}
		if word, ok := labels["state"]; !ok {
			*into = numberOf(int(value), numbers)
		} else if value == 1 {
			*into = wordOf(word, numbers)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	all := []Volume{}
	for _, v := range found {
		all = append(all, *v)
	}
	sortVolumes(all)
	return all, nil
}

// parseSample parses a line of the text format of Prometheus. ok is false for comments and for lines of another form.
func parseSample(line string) (name string, labels map[string]string, value float64, ok bool) {
	line = strings.TrimSpace(line)
	i := strings.IndexAny(line, "{ \t")
	if i <= 0 || strings.HasPrefix(line, "#") {
		return "", nil, 0, false
	}
	name, rest := line[:i], line[i:]
	labels = map[string]string{}
	if rest[0] == '{' {
		if rest, ok = parseLabels(rest[1:], labels); !ok {
			return "", nil, 0, false
		}
	}
	fields := strings.Fields(rest) // a time may follow the value
	if len(fields) == 0 {
		return "", nil, 0, false
	}
	value, err := strconv.ParseFloat(fields[0], 64)
	return name, labels, value, err == nil
}

// parseLabels parses labels up to the closing brace, and returns what follows.
func parseLabels(text string, into map[string]string) (rest string, ok bool) {
	for {
		text = strings.TrimLeft(text, ", \t")
		if rest, closed := strings.CutPrefix(text, "}"); closed {
			return rest, true
		}
		name, after, found := strings.Cut(text, `="`)
		if !found {
			return "", false
		}
		var value strings.Builder
		end := -1
		for i := 0; i < len(after) && end < 0; i++ {
			switch {
			case after[i] == '"':
				end = i
			case after[i] == '\\' && i+1 < len(after):
				i++
				value.WriteString(strings.NewReplacer("n", "\n").Replace(after[i : i+1]))
			default:
				value.WriteByte(after[i])
			}
		}
		if end < 0 {
			return "", false
		}
		into[strings.TrimSpace(name)] = value.String()
		text = after[end+1:]
	}
}
