package guestmemory

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// kept is one amount as text.
type kept struct {
	Bytes int64  `json:"bytes"`
	Seen  string `json:"seen"` // 2026-11-21
}

// name is the image, followed by the resource and the class where the amount is what is left to pods.
func (k Key) name() string {
	if k.Left.Resource == "" {
		return k.Image
	}
	return k.Image + " " + k.Left.Resource + " " + k.Left.Class
}

func keyOf(instanceType, name string) Key {
	image, left, _ := strings.Cut(name, " ")
	resource, class, _ := strings.Cut(left, " ")
	return Key{instanceType, image, Left{resource, class}}
}

// Text writes everything as JSON: type, then image. The same knowledge gives the same text.
func (b *Book) Text() (text string, version uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.fresh)
	out := map[string]map[string]kept{}
	for k, e := range b.current.Load().entries {
		if out[k.InstanceType] == nil {
			out[k.InstanceType] = map[string]kept{}
		}
		out[k.InstanceType][k.name()] = kept{e.bytes, e.seen.Format(time.DateOnly)}
	}
	data, err := json.Marshal(out) // maps are written sorted
	if err != nil {
		panic("guestmemory: plain values can always be written: " + err.Error())
	}
	return string(data), b.version
}

// Take adds what Text wrote in another process. Where both know something, the lesser amount counts.
//
// Errors: the text is not of that form; entries that make no sense are passed over.
func (b *Book) Take(text string) error {
	var in map[string]map[string]kept
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return fmt.Errorf("reading remembered memory sizes: %w", err)
	}
	entries := map[Key]entry{}
	tomorrow := b.now().Add(day)
	for instanceType, names := range in {
		for name, k := range names {
			key := keyOf(instanceType, name)
			seen, err := time.Parse(time.DateOnly, k.Seen)
			if err == nil && key.InstanceType != "" && key.Image != "" && k.Bytes > 0 && seen.Before(tomorrow) {
				entries[key] = entry{k.Bytes, seen}
			}
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.merge(entries)
	return nil
}
