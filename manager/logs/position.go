package logs

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// cursor is a position in a log, as units write it: LIFE.GEN.OFFSET, where LIFE has twelve of the 32 characters
// below. The zero value is the beginning.
type cursor struct {
	life        uint64 // its characters, five bits each, plus one; 0: the beginning
	gen, offset uint64
}

const (
	lifeCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	lifeLength     = 12
)

func parseCursor(text string) (cursor, error) {
	c := cursor{}
	parts := strings.Split(text, ".")
	if len(parts) != 3 || len(parts[0]) != lifeLength {
		return c, fmt.Errorf("%.60q is not a cursor of a log", text)
	}
	for _, r := range []byte(parts[0]) {
		i := strings.IndexByte(lifeCharacters, r)
		if i < 0 {
			return c, fmt.Errorf("%.60q is not a cursor of a log", text)
		}
		c.life = c.life<<5 | uint64(i)
	}
	c.life++
	var genErr, err error
	c.gen, genErr = strconv.ParseUint(parts[1], 10, 64)
	c.offset, err = strconv.ParseUint(parts[2], 10, 63)
	return c, errors.Join(genErr, err)
}

// String is empty for the beginning.
func (c cursor) String() string {
	if c.life == 0 {
		return ""
	}
	life := make([]byte, lifeLength)
	for i, bits := lifeLength-1, c.life-1; i >= 0; i, bits = i-1, bits>>5 {
		life[i] = lifeCharacters[bits&31]
	}
	return fmt.Sprintf("%s.%d.%d", life, c.gen, c.offset)
}

// instanceKey identifies an instance in a position.
type instanceKey [6]byte

func keyOf(instance string) (k instanceKey) {
	sum := sha256.Sum256([]byte(instance))
	copy(k[:], sum[:])
	return k
}

// position is a reader's position in every log: after the last line that was emitted or filtered out.
type position struct {
	sum [2]byte         // digest of the order of the logs
	at  []*readPosition // sorted by key
}

// readPosition is a reader's position in the logs of one instance.
type readPosition struct {
	key  instanceKey
	logs []cursor // by index of the node's sources
}

// of returns the part for an instance; a new one at the beginning if there is none.
func (p *position) of(key instanceKey, sources int) *readPosition {
	i, found := slices.BinarySearchFunc(p.at, key, compareKeys)
	if !found {
		p.at = slices.Insert(p.at, i, &readPosition{key: key})
	}
	s := p.at[i]
	for len(s.logs) < sources {
		s.logs = append(s.logs, cursor{})
	}
	return s
}

// drop forgets an instance.
func (p *position) drop(key instanceKey) {
	if i, found := slices.BinarySearchFunc(p.at, key, compareKeys); found {
		p.at = slices.Delete(p.at, i, i+1)
	}
}

func compareKeys(s *readPosition, key instanceKey) int { return slices.Compare(s.key[:], key[:]) }

const (
	positionVersion = 1
	maxPosition     = 64 << 10 // maximum length
	maxLogs         = 50_000   // maximum number of logs
)

// String returns a compact encoding, because each line has one.
func (p *position) String() string { return string(p.append(nil)) }

func (p *position) append(to []byte) []byte {
	raw := make([]byte, 0, 512)
	raw = append(raw, positionVersion, p.sum[0], p.sum[1])
	for _, s := range p.at {
		count, last := 0, 0
		for _, c := range s.logs {
			if c.life != 0 {
				count++
			}
		}
		if count == 0 {
			continue
		}
		raw = append(raw, s.key[:]...)
		raw = binary.AppendUvarint(raw, uint64(count))
		for i, c := range s.logs {
			if c.life == 0 {
				continue
			}
			raw = binary.AppendUvarint(raw, uint64(i-last))
			raw = binary.BigEndian.AppendUint64(raw, c.life)
			raw = binary.AppendUvarint(raw, c.gen)
			raw = binary.AppendUvarint(raw, c.offset)
			last = i
		}
	}
	return base64.RawURLEncoding.AppendEncode(to, raw)
}

var errPosition = errors.New("it is not a position in logs")

// parsePosition parses the result of String.
func parsePosition(text string) (*position, error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(text) > maxPosition || len(raw) < 3 || raw[0] != positionVersion {
		return nil, errPosition
	}
	p, total := &position{sum: [2]byte(raw[1:3])}, uint64(0)
	for raw = raw[3:]; len(raw) > 0; {
		s := &readPosition{}
		if len(raw) < len(s.key) {
			return nil, errPosition
		}
		raw = raw[copy(s.key[:], raw):]
		count, err := number(&raw)
		if err != nil || count > uint64(len(raw)) {
			return nil, errPosition
		}
		for index, ordinal := uint64(0), uint64(0); ordinal < count; ordinal++ {
			c, skip, err := entry(&raw)
			if index += skip; err != nil || index > maxLogs {
				return nil, errPosition
			}
			for uint64(len(s.logs)) <= index {
				s.logs = append(s.logs, cursor{})
			}
			s.logs[index] = c
		}
		if total += uint64(len(s.logs)); total > maxLogs {
			return nil, errPosition
		}
		i, found := slices.BinarySearchFunc(p.at, s.key, compareKeys)
		if found {
			return nil, errPosition
		}
		p.at = slices.Insert(p.at, i, s)
	}
	return p, nil
}

// entry parses the cursor of a log, and how many logs lie between it and the previous one.
func entry(raw *[]byte) (c cursor, skip uint64, err error) {
	if skip, err = number(raw); err != nil || len(*raw) < 8 {
		return c, 0, errPosition
	}
	c.life = binary.BigEndian.Uint64(*raw)
	*raw = (*raw)[8:]
	if c.life == 0 || c.life > 1<<(5*lifeLength) {
		return c, 0, errPosition
	}
	if c.gen, err = number(raw); err == nil {
		c.offset, err = number(raw)
	}
	if c.offset > 1<<62 {
		err = errPosition
	}
	return c, skip, err
}

func number(raw *[]byte) (uint64, error) {
	n, size := binary.Uvarint(*raw)
	if size <= 0 {
		return 0, errPosition
	}
	*raw = (*raw)[size:]
	return n, nil
}
