// What containers are made of here: a root, a user, control groups, a network; and how one ended.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Its files, as volumes of secrets have them; an error if one is not there yet.
func (h *hollow) files(pod *core.Pod, root string) error {
	for _, mount := range pod.Spec.Containers[0].VolumeMounts {
		for _, volume := range pod.Spec.Volumes {
			if volume.Name != mount.Name || volume.Secret == nil {
				continue
			}
			secret, err := h.client.CoreV1().Secrets(pod.Namespace).Get(context.Background(), volume.Secret.SecretName, meta.GetOptions{})
			if err != nil {
				return err
			}
			folder := filepath.Join(root, mount.MountPath)
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return err
			}
			for name, content := range secret.Data {
				mode := os.FileMode(*volume.Secret.DefaultMode)
				if err := os.WriteFile(filepath.Join(folder, name), content, mode); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// The root of a container: its image's one file, and what every container finds.
func (h *hollow) prepare(root, hosts string) error {
	for _, folder := range []string{"proc", "etc", "dev"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			return err
		}
	}
	// Nobody answers there: the names of services stand in the other file.
	for name, content := range map[string]string{"hosts": hosts, "resolv.conf": "nameserver 10.96.0.10\n"} {
		if err := os.WriteFile(filepath.Join(root, "etc", name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	if err := os.Link(h.binary, filepath.Join(root, "torment")); err != nil && !os.IsExist(err) {
		return err
	}
	return nil
}

// What a shell does in a root, which is its $0, before it becomes the container.
const mounts = `for d in null zero random urandom; do : >"$0/dev/$d" && mount --bind "/dev/$d" "$0/dev/$d"; done
	mount -t proc proc "$0/proc" && `

func becomes(user, group int64) string {
	return fmt.Sprintf(`hostname "$1" && r=$0 && shift && exec chroot --userspec=%d:%d "$r" /torment "$@"`, user, group)
}

// As its pod asks, or else its image.
func who(pod *core.Pod, context *core.SecurityContext) (int64, int64) {
	user, group := int64(imageUser), int64(imageUser)
	if all := pod.Spec.SecurityContext; all != nil && all.RunAsUser != nil {
		user, group = *all.RunAsUser, *all.RunAsUser
		if all.RunAsGroup != nil {
			group = *all.RunAsGroup
		}
	}
	if context != nil && context.RunAsUser != nil {
		user, group = *context.RunAsUser, *context.RunAsUser
	}
	if context != nil && context.RunAsGroup != nil {
		group = *context.RunAsGroup
	}
	return user, group
}

func hostname(pod *core.Pod) string {
	if pod.Spec.Hostname != "" {
		return pod.Spec.Hostname
	}
	return pod.Name
}

// Its control groups, named as a kubelet does, with its limit; and what puts a shell into them.
func groups(pod *core.Pod) ([]string, string, error) {
	parents := []string{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/memory"}
	unified := false
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		parents, unified = []string{"/sys/fs/cgroup"}, true
	}
	var all []string
	enter := ""
	for _, parent := range parents {
		top := filepath.Join(parent, "kubepods-hollow")
		folder := filepath.Join(top, "pod"+string(pod.UID))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, "", err
		}
		if unified {
			for _, above := range []string{parent, top} {
				_ = os.WriteFile(filepath.Join(above, "cgroup.subtree_control"), []byte("+cpu +memory"), 0o644)
			}
		}
		all = append(all, folder)
		enter += fmt.Sprintf(`echo $$ >%s/cgroup.procs && `, folder)
	}
	if limit := pod.Spec.Containers[0].Resources.Limits.Cpu().MilliValue(); limit > 0 {
		file, quota := "cpu.cfs_quota_us", fmt.Sprint(limit*100)
		if unified {
			file, quota = "cpu.max", quota+" 100000"
		}
		if err := os.WriteFile(filepath.Join(all[0], file), []byte(quota), 0o644); err != nil {
			return nil, "", err
		}
	}
	return all, enter, nil
}

// A network of its own, with a way to the bridge.
func connect(name, link, address string) error {
	for _, words := range [][]string{
		{"netns", "add", name},
		{"link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name},
		{"link", "set", link, "master", bridge, "up"},
		{"-n", name, "address", "add", address + "/24", "dev", "eth0"},
		{"-n", name, "link", "set", "eth0", "up"},
		{"-n", name, "link", "set", "lo", "up"},
		{"-n", name, "route", "add", "default", "via", network + "1"},
	} {
		if err := command("ip", words...); err != nil {
			return err
		}
	}
	return nil
}

// How a container ended: its code, in a word, and what it said at the end if that was not well.
func ended(how error, said string) (int32, string, string) {
	var exit *exec.ExitError
	if !errors.As(how, &exit) {
		return 0, "Completed", ""
	}
	code := int32(exit.ExitCode())
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int32(status.Signal())
	}
	words, _ := os.ReadFile(said)
	if len(words) > wordsMost {
		words = words[len(words)-wordsMost:]
	}
	return code, "Error", string(words)
}
