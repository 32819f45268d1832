// Containers that join a pod that runs (ephemeral ones): in its network, and in the process namespace of the container that they name, with a
// root of their own.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Takes up those that were put into a pod since.
func (h *hollow) join(pod *core.Pod, known *running) {
	for index := range pod.Spec.EphemeralContainers {
		container := &pod.Spec.EphemeralContainers[index].EphemeralContainerCommon
		if known.inside[container.Name] {
			continue
		}
		if container.Image != h.image {
			known.inside[container.Name] = true
			h.tellInside(pod, container, core.ContainerState{Waiting: &core.ContainerStateWaiting{
				Reason: "ImagePullBackOff", Message: fmt.Sprintf("Back-off pulling image %q: not found", container.Image),
			}})
			continue
		}
		environment, err := h.environment(pod.Namespace, container.Env)
		if apierrors.IsNotFound(err) {
			// It is waited for, as a kubelet does.
			continue
		}
		known.inside[container.Name] = true
		if err == nil {
			err = h.enter(pod, known, container, environment)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, pod.Name+":", err)
		}
	}
}

func (h *hollow) environment(namespace string, variables []core.EnvVar) ([]string, error) {
	all := []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	for _, variable := range variables {
		value := variable.Value
		if from := variable.ValueFrom; from != nil && from.SecretKeyRef != nil {
			secret, err := h.client.CoreV1().Secrets(namespace).Get(context.Background(), from.SecretKeyRef.Name, meta.GetOptions{})
			if err != nil {
				return nil, err
			}
			value = string(secret.Data[from.SecretKeyRef.Key])
		}
		all = append(all, variable.Name+"="+value)
	}
	return all, nil
}

func (h *hollow) enter(pod *core.Pod, known *running, container *core.EphemeralContainerCommon, environment []string) error {
	root := filepath.Join(h.folder, string(pod.UID)+"-"+container.Name)
	if err := h.prepare(root, known.hosts); err != nil {
		return err
	}
	_, limited, err := groups(pod)
	if err != nil {
		return err
	}
	script := mounts + becomes(who(pod, container.SecurityContext))
	arguments := append([]string{
		"-c", limited + `exec nsenter --net="$0" "$@"`, "/run/netns/" + known.network,
		fmt.Sprintf("--pid=/proc/%d/ns/pid", known.process.Pid), "unshare", "-m", "-u", "sh", "-c", script, root, hostname(pod),
	}, container.Args...)
	process := exec.Command("sh", arguments...)
	process.Env = environment
	said, err := os.Create(filepath.Join(root, "said"))
	if err != nil {
		return err
	}
	process.Stdout, process.Stderr = said, said
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := process.Start(); err != nil {
		return err
	}
	began := meta.Now()
	h.tellInside(pod, container, core.ContainerState{Running: &core.ContainerStateRunning{StartedAt: began}})
	go func() {
		code, reason, words := ended(process.Wait(), said.Name())
		_ = said.Close()
		h.tellInside(pod, container, core.ContainerState{Terminated: &core.ContainerStateTerminated{
			ExitCode: code, Reason: reason, Message: words, StartedAt: began, FinishedAt: meta.Now(),
		}})
	}()
	return nil
}

func (h *hollow) tellInside(pod *core.Pod, container *core.EphemeralContainerCommon, state core.ContainerState) {
	h.tell(pod, func(status *core.PodStatus) {
		now := core.ContainerStatus{Name: container.Name, Image: container.Image, State: state}
		for index := range status.EphemeralContainerStatuses {
			if status.EphemeralContainerStatuses[index].Name == container.Name {
				status.EphemeralContainerStatuses[index] = now
				return
			}
		}
		status.EphemeralContainerStatuses = append(status.EphemeralContainerStatuses, now)
	})
}
