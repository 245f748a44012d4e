package simcluster

import (
	cryptorand "crypto/rand"
	"encoding/binary"
	"math/rand/v2"
	"sync"

	utilrand "k8s.io/apimachinery/pkg/util/rand"
)

// DrawAlike makes this process draw the same names and IDs again: those of NodeClaims, of commands, of calls. With Options.Ordered
// a seed plays the same story each time. It is for processes that play one story and end.
func DrawAlike(seed uint64) {
	utilrand.Seed(int64(seed))
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	cryptorand.Reader = &drawer{source: rand.NewChaCha8(key)}
}

// drawer stands for crypto/rand's source.
//
// Concurrency: safe.
type drawer struct {
	mu     sync.Mutex
	source *rand.ChaCha8
}

func (d *drawer) Read(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.source.Read(b)
}
