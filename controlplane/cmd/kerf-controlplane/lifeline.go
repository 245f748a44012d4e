package main

import (
	"os"
	"strconv"
	"sync"
)

// lifelineEnv names the file descriptor of a pipe whose other end the parent
// holds open and never writes to. The read returns when the parent is gone,
// however it died. Unlike a parent-death signal this works on every system,
// does not depend on which thread started the child, and gives the child the
// chance to remove what it keeps in memory.
const lifelineEnv = "KERF_LIFELINE_FD"

var (
	orphaned     = make(chan struct{})
	onOrphanedMu sync.Mutex
	onOrphaned   = func() { os.Exit(1) }
)

// watchLifeline begins to watch the pipe named in the environment, if any.
// The variable is then removed, so that it is not passed on by accident.
func watchLifeline() {
	fd, err := strconv.Atoi(os.Getenv(lifelineEnv))
	os.Unsetenv(lifelineEnv)
	if err != nil || fd < 3 {
		return
	}
	pipe := os.NewFile(uintptr(fd), "lifeline")
	go func() {
		var b [1]byte
		for {
			if _, err := pipe.Read(b[:]); err != nil {
				break
			}
		}
		close(orphaned)
		onOrphanedMu.Lock()
		defer onOrphanedMu.Unlock()
		onOrphaned()
	}()
}

// whenOrphaned replaces what happens when the parent is gone. Without it the
// process exits at once: a component whose supervisor is dead has nothing to
// finish, and the apiserver would wait forever for an etcd that is gone.
func whenOrphaned(f func()) {
	onOrphanedMu.Lock()
	defer onOrphanedMu.Unlock()
	onOrphaned = f
}
