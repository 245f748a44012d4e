//go:build !linux

package kubelet

import "syscall"

// childAttributes make a child that does not hear the Ctrl-C of a terminal.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
