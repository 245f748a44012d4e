package kubelet

import "syscall"

// childAttributes make a child that ends when this process ends and does not hear the Ctrl-C of a terminal.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
