package sqs

import (
	"crypto/md5" //nolint:gosec // the checksum that the protocol asks for
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

func digest(b []byte) string {
	sum := md5.Sum(b) //nolint:gosec // the checksum that the protocol asks for
	return hex.EncodeToString(sum[:])
}

// attributesDigest is the checksum of message attributes: of name, type, kind of transport (1 text, 2 bytes) and
// value of each in the order of names, every part preceded by its length.
func attributesDigest(attributes map[string]world.MessageAttributes) string {
	var b []byte
	put := func(part []byte) {
		b = binary.BigEndian.AppendUint32(b, uint32(len(part)))
		b = append(b, part...)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[name]
		put([]byte(name))
		put([]byte(a.DataType))
		if strings.HasPrefix(a.DataType, "Binary") {
			b = append(b, 2)
			put(a.BinaryValue)
		} else {
			b = append(b, 1)
			put([]byte(a.StringValue))
		}
	}
	return digest(b)
}
