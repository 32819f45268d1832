// Hollow nodes: what the scheduler binds to them runs as processes of this machine, each pod in namespaces of its own (network, processes,
// name) and in a root that holds its image's one file. Their status, signals and ends are a kubelet's, as far as torment depends on them; logs and forwarded ports are served by a
// kubelet's own code. There is no kubelet, no runtime, no enforced policy.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	bridge  = "torment-k8s"
	network = "10.99.0."
	// Where the API server finds the kubelet of each.
	kubelet = 26250
	// As the image has it.
	imageUser = 65532
	// A node that says nothing for 40 s is taken for dead.
	heartbeat = 10 * time.Second
	poll      = 200 * time.Millisecond
	// What of a failed pod's words goes into its status.
	wordsMost = 2048
)

type hollow struct {
	client *kubernetes.Clientset
	folder string
	image  string
	binary string
	lock   sync.Mutex
	// By their identity, and by namespace and name.
	pods  map[string]*running
	names map[string]*running
	last  int
}

// A pod that was taken over from the scheduler.
type running struct {
	process *os.Process
	address string
	// The file with its words.
	said string
	// Where it is, what names are there, and its network.
	root, namespace, hosts, network string
	// The containers that have joined it since.
	inside map[string]bool
	// Sent to once.
	asked bool
	ended bool
}

func nodes(arguments []string) error {
	flags := flag.NewFlagSet("nodes", flag.ContinueOnError)
	config := flags.String("kubeconfig", "", "who may do everything")
	folder := flags.String("folder", "", "for the roots of pods")
	image := flags.String("image", "", "the only image there is")
	binary := flags.String("binary", "", "the program in it")
	cpus := flags.String("cpus", "4", "of each node")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	loaded, err := clientcmd.BuildConfigFromFlags("", *config)
	if err != nil {
		return err
	}
	loaded.QPS, loaded.Burst = 100, 200
	client, err := kubernetes.NewForConfig(loaded)
	if err != nil {
		return err
	}
	node := &hollow{client: client, folder: *folder, image: *image, binary: *binary, last: 1}
	node.pods, node.names = map[string]*running{}, map[string]*running{}
	if err := command("ip", "address", "add", network+"1/24", "dev", bridge); err != nil {
		return err
	}
	if err := command("ip", "link", "set", bridge, "up"); err != nil {
		return err
	}
	if err := os.MkdirAll(*folder, 0o755); err != nil {
		return err
	}
	if err := node.serve(fmt.Sprintf("127.0.0.1:%d", kubelet)); err != nil {
		return err
	}
	for _, name := range flags.Args() {
		if err := node.appear(name, *cpus); err != nil {
			return err
		}
	}
	beaten := time.Now()
	for round := 0; ; round++ {
		for _, name := range flags.Args() {
			if time.Since(beaten) > heartbeat {
				node.beat(name)
			}
			node.look(name)
		}
		if time.Since(beaten) > heartbeat {
			beaten = time.Now()
		}
		if round%5 == 0 {
			node.namesKnown()
		}
		time.Sleep(poll)
	}
}

func command(name string, arguments ...string) error {
	said, err := exec.Command(name, arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(arguments, " "), err, said)
	}
	return nil
}

func (h *hollow) appear(name, cpus string) error {
	has := core.ResourceList{
		core.ResourceCPU:    resource.MustParse(cpus),
		core.ResourceMemory: resource.MustParse("8Gi"),
		core.ResourcePods:   resource.MustParse("50"),
	}
	now := meta.Now()
	node := &core.Node{
		ObjectMeta: meta.ObjectMeta{Name: name, Labels: map[string]string{
			"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
		}},
		Status: core.NodeStatus{
			Addresses:       []core.NodeAddress{{Type: core.NodeInternalIP, Address: "127.0.0.1"}},
			DaemonEndpoints: core.NodeDaemonEndpoints{KubeletEndpoint: core.DaemonEndpoint{Port: kubelet}},
			Capacity:        has,
			Allocatable:     has,
			Conditions: []core.NodeCondition{{
				Type: core.NodeReady, Status: core.ConditionTrue, Reason: "Hollow", LastHeartbeatTime: now, LastTransitionTime: now,
			}},
		},
	}
	ctx := context.Background()
	if _, err := h.client.CoreV1().Nodes().Create(ctx, node, meta.CreateOptions{}); err != nil {
		return err
	}
	seconds, renewed := int32(40), meta.NowMicro()
	lease := &coordination.Lease{
		ObjectMeta: meta.ObjectMeta{Name: name, Namespace: core.NamespaceNodeLease},
		Spec:       coordination.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &renewed},
	}
	var err error
	// The namespace comes with the API server, a little later.
	for attempt := 0; attempt < 50; attempt++ {
		if _, err = h.client.CoordinationV1().Leases(core.NamespaceNodeLease).Create(ctx, lease, meta.CreateOptions{}); err == nil {
			return nil
		}
		time.Sleep(poll)
	}
	return err
}

func (h *hollow) beat(name string) {
	leases := h.client.CoordinationV1().Leases(core.NamespaceNodeLease)
	lease, err := leases.Get(context.Background(), name, meta.GetOptions{})
	if err == nil {
		renewed := meta.NowMicro()
		lease.Spec.RenewTime = &renewed
		_, err = leases.Update(context.Background(), lease, meta.UpdateOptions{})
	}
	if err == nil {
		err = h.returns(name)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "heartbeat:", err)
	}
}

// A node that was kept from running for longer than its lease is taken for gone until it says otherwise.
func (h *hollow) returns(name string) error {
	nodes := h.client.CoreV1().Nodes()
	node, err := nodes.Get(context.Background(), name, meta.GetOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	for at := range node.Status.Conditions {
		ready := &node.Status.Conditions[at]
		if ready.Type == core.NodeReady && ready.Status != core.ConditionTrue {
			now := meta.Now()
			ready.Status, ready.Reason, ready.LastHeartbeatTime, ready.LastTransitionTime = core.ConditionTrue, "Hollow", now, now
			_, err = nodes.UpdateStatus(context.Background(), node, meta.UpdateOptions{})
		}
	}
	return err
}

// Takes up what was bound to a node, and ends what was deleted.
func (h *hollow) look(name string) {
	selector := fields.OneTermEqualSelector("spec.nodeName", name).String()
	pods, err := h.client.CoreV1().Pods("").List(context.Background(), meta.ListOptions{FieldSelector: selector, ResourceVersion: "0"})
	if err != nil {
		fmt.Fprintln(os.Stderr, "pods:", err)
		return
	}
	for index := range pods.Items {
		pod := &pods.Items[index]
		h.lock.Lock()
		known := h.pods[string(pod.UID)]
		h.lock.Unlock()
		switch {
		case pod.DeletionTimestamp != nil && (known == nil || known.ended):
			h.forget(pod)
		case pod.DeletionTimestamp != nil:
			h.ask(pod, known)
		case known == nil && pod.Status.Phase == core.PodPending:
			if err := h.start(pod); err != nil {
				fmt.Fprintln(os.Stderr, pod.Name+":", err)
			}
		case known != nil && !known.ended:
			h.join(pod, known)
		}
	}
}

// As a kubelet does once nothing of it runs any more.
func (h *hollow) forget(pod *core.Pod) {
	now := int64(0)
	options := meta.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &meta.Preconditions{UID: &pod.UID}}
	err := h.client.CoreV1().Pods(pod.Namespace).Delete(context.Background(), pod.Name, options)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		fmt.Fprintln(os.Stderr, pod.Name+":", err)
	}
}

func (h *hollow) ask(pod *core.Pod, known *running) {
	if known.asked {
		return
	}
	known.asked = true
	_ = known.process.Signal(syscall.SIGTERM)
	grace := 30 * time.Second
	if pod.DeletionGracePeriodSeconds != nil {
		grace = time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
	}
	time.AfterFunc(grace, func() { _ = known.process.Kill() })
}

// Names of services come and go while pods run.
func (h *hollow) namesKnown() {
	h.lock.Lock()
	defer h.lock.Unlock()
	for _, known := range h.pods {
		if known.ended {
			continue
		}
		if hosts := h.hosts(known.namespace); hosts != known.hosts {
			known.hosts = hosts
			_ = os.WriteFile(filepath.Join(known.root, "etc", "hosts"), []byte(hosts), 0o644)
		}
	}
}

// The names of services are those of their pods: nothing here has an address for all of them.
func (h *hollow) hosts(namespace string) string {
	lines := "127.0.0.1 localhost\n"
	slices, err := h.client.DiscoveryV1().EndpointSlices("").List(context.Background(), meta.ListOptions{})
	if err != nil {
		return lines
	}
	for _, slice := range slices.Items {
		service := slice.Labels["kubernetes.io/service-name"]
		for _, endpoint := range slice.Endpoints {
			name := service + "." + slice.Namespace
			lines += fmt.Sprintf("%s %s %s.svc %s.svc.cluster.local\n", endpoint.Addresses[0], name, name, name)
			if slice.Namespace == namespace {
				lines += endpoint.Addresses[0] + " " + service + "\n"
			}
		}
	}
	return lines
}

func (h *hollow) start(pod *core.Pod) error {
	container := pod.Spec.Containers[0]
	if container.Image != h.image {
		return h.waits(pod, "ImagePullBackOff", fmt.Sprintf("Back-off pulling image %q: not found", container.Image))
	}
	root := filepath.Join(h.folder, string(pod.UID))
	hosts := h.hosts(pod.Namespace)
	if err := h.prepare(root, hosts); err != nil {
		return err
	}
	if context := container.SecurityContext; context == nil || context.ReadOnlyRootFilesystem == nil || !*context.ReadOnlyRootFilesystem {
		if err := os.MkdirAll(filepath.Join(root, "tmp"), 0o755); err != nil {
			return err
		}
		if err := os.Chmod(filepath.Join(root, "tmp"), os.ModeSticky|0o777); err != nil {
			return err
		}
	}
	if err := h.files(pod, root); err != nil {
		if apierrors.IsNotFound(err) {
			// It is waited for, as a kubelet does.
			return nil
		}
		return err
	}
	h.last++
	name, address := fmt.Sprintf("torment-k8s-%d", h.last), fmt.Sprintf("%s%d", network, h.last)
	if err := connect(name, fmt.Sprintf("tk%d", h.last), address); err != nil {
		return err
	}
	group, limited, err := groups(pod)
	if err != nil {
		return err
	}
	script := mounts
	if !pod.Spec.HostPID {
		// As a runtime shows a container its own.
		for _, folder := range group {
			parent := filepath.Dir(filepath.Dir(folder))
			if err := os.MkdirAll(filepath.Join(root, parent), 0o755); err != nil {
				return err
			}
			script += fmt.Sprintf(`mount --bind %s "$0%s" && `, folder, parent)
		}
	}
	for _, mount := range container.VolumeMounts {
		for _, volume := range pod.Spec.Volumes {
			if volume.Name != mount.Name || volume.HostPath == nil {
				continue
			}
			if err := os.MkdirAll(filepath.Join(root, mount.MountPath), 0o755); err != nil {
				return err
			}
			script += fmt.Sprintf(`mount --rbind %s "$0%s" && `, volume.HostPath.Path, mount.MountPath)
		}
	}
	uid, gid := who(pod, container.SecurityContext)
	script += becomes(uid, gid)
	// Into its groups first. Not by ip netns exec, which would hide them.
	arguments := append([]string{"-c", limited + `exec nsenter --net="$0" "$@"`, "/run/netns/" + name, "unshare", "-m", "-u", "sh", "-c", script, root, hostname(pod)}, container.Args...)
	process := exec.Command("sh", arguments...)
	if process.Env, err = h.environment(pod.Namespace, container.Env); err != nil {
		return err
	}
	said, err := os.Create(filepath.Join(root, "said"))
	if err != nil {
		return err
	}
	process.Stdout, process.Stderr = said, said
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if !pod.Spec.HostPID {
		process.SysProcAttr.Cloneflags = syscall.CLONE_NEWPID
	}
	if err := process.Start(); err != nil {
		return err
	}
	known := &running{
		process: process.Process, address: address, said: said.Name(), root: root, namespace: pod.Namespace, hosts: hosts,
		network: name, inside: map[string]bool{},
	}
	h.lock.Lock()
	h.pods[string(pod.UID)] = known
	h.names[pod.Namespace+"/"+pod.Name] = known
	h.lock.Unlock()
	began := meta.Now()
	h.tell(pod, func(status *core.PodStatus) {
		status.Phase, status.StartTime, status.HostIP, status.PodIP = core.PodRunning, &began, network+"1", address
		status.PodIPs = []core.PodIP{{IP: address}}
		is(status, core.PodReady, core.ConditionTrue)
		is(status, core.ContainersReady, core.ConditionTrue)
		status.ContainerStatuses = []core.ContainerStatus{{
			Name: container.Name, Image: container.Image, Ready: true,
			State: core.ContainerState{Running: &core.ContainerStateRunning{StartedAt: began}},
			User:  &core.ContainerUser{Linux: &core.LinuxContainerUser{UID: uid, GID: gid}},
		}}
	})
	go func() {
		err := process.Wait()
		_ = said.Close()
		_ = command("ip", "netns", "delete", name)
		for _, folder := range group {
			_ = os.Remove(folder)
		}
		h.over(pod, root, began, err)
		h.lock.Lock()
		known.ended = true
		h.lock.Unlock()
	}()
	return nil
}

func (h *hollow) over(pod *core.Pod, root string, began meta.Time, how error) {
	code, reason, said := ended(how, filepath.Join(root, "said"))
	phase := core.PodSucceeded
	if code != 0 {
		phase = core.PodFailed
	}
	container := pod.Spec.Containers[0]
	h.tell(pod, func(status *core.PodStatus) {
		status.Phase = phase
		is(status, core.PodReady, core.ConditionFalse)
		is(status, core.ContainersReady, core.ConditionFalse)
		status.ContainerStatuses = []core.ContainerStatus{{
			Name: container.Name, Image: container.Image,
			State: core.ContainerState{Terminated: &core.ContainerStateTerminated{
				ExitCode: code, Reason: reason, Message: said, StartedAt: began, FinishedAt: meta.Now(),
			}},
		}}
	})
}

func (h *hollow) waits(pod *core.Pod, reason, why string) error {
	if len(pod.Status.ContainerStatuses) > 0 {
		return nil
	}
	container := pod.Spec.Containers[0]
	h.tell(pod, func(status *core.PodStatus) {
		status.ContainerStatuses = []core.ContainerStatus{{
			Name: container.Name, Image: container.Image,
			State: core.ContainerState{Waiting: &core.ContainerStateWaiting{Reason: reason, Message: why}},
		}}
	})
	return nil
}

func is(status *core.PodStatus, what core.PodConditionType, value core.ConditionStatus) {
	now := meta.Now()
	for index := range status.Conditions {
		if status.Conditions[index].Type == what {
			status.Conditions[index].Status, status.Conditions[index].LastTransitionTime = value, now
			return
		}
	}
	status.Conditions = append(status.Conditions, core.PodCondition{Type: what, Status: value, LastTransitionTime: now})
}

// Changes a pod's status, whoever else does so at the same time.
func (h *hollow) tell(pod *core.Pod, change func(*core.PodStatus)) {
	pods := h.client.CoreV1().Pods(pod.Namespace)
	for attempt := 0; attempt < 5; attempt++ {
		latest, err := pods.Get(context.Background(), pod.Name, meta.GetOptions{})
		if err != nil || latest.UID != pod.UID {
			return
		}
		change(&latest.Status)
		if _, err = pods.UpdateStatus(context.Background(), latest, meta.UpdateOptions{}); err == nil {
			return
		}
		if !apierrors.IsConflict(err) {
			fmt.Fprintln(os.Stderr, pod.Name+":", err)
			return
		}
	}
}
