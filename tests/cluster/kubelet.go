// What of a kubelet the API server turns to: logs, and ports that are forwarded, by the kubelet's own code.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/types"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/kubelet/pkg/cri/streaming/portforward"
)

const (
	idle     = time.Hour
	creation = 30 * time.Second
	look     = 200 * time.Millisecond
)

// Serves all nodes, at one port.
func (h *hollow) serve(address string) error {
	certificate, key := filepath.Join(h.folder, "kubelet.crt"), filepath.Join(h.folder, "kubelet.key")
	cert, private, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		return err
	}
	if err := os.WriteFile(certificate, cert, 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(key, private, 0o600); err != nil {
		return err
	}
	paths := http.NewServeMux()
	paths.HandleFunc("/portForward/{namespace}/{pod}", func(answer http.ResponseWriter, request *http.Request) {
		known := h.named(request.PathValue("namespace"), request.PathValue("pod"))
		if known == nil {
			http.NotFound(answer, request)
			return
		}
		options, err := portforward.NewV4Options(request)
		if err != nil {
			http.Error(answer, err.Error(), http.StatusBadRequest)
			return
		}
		portforward.ServePortForward(answer, request, known, request.PathValue("pod"), "", options, idle, creation, portforward.SupportedProtocols)
	})
	paths.HandleFunc("/containerLogs/{namespace}/{pod}/{container}", func(answer http.ResponseWriter, request *http.Request) {
		known := h.named(request.PathValue("namespace"), request.PathValue("pod"))
		if known == nil {
			http.NotFound(answer, request)
			return
		}
		known.logs(answer, request)
	})
	server := &http.Server{Addr: address, Handler: paths}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	go func() { fmt.Fprintln(os.Stderr, "kubelet:", server.ServeTLS(listener, certificate, key)) }()
	return nil
}

func (h *hollow) named(namespace, pod string) *running {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.names[namespace+"/"+pod]
}

// Its words so far; with follow also those that come, until it has ended.
func (r *running) logs(answer http.ResponseWriter, request *http.Request) {
	file, err := os.Open(r.said)
	if err != nil {
		http.NotFound(answer, request)
		return
	}
	defer file.Close()
	for {
		ended := r.ended
		if _, err := io.Copy(answer, file); err != nil {
			return
		}
		if flusher, ok := answer.(http.Flusher); ok {
			flusher.Flush()
		}
		if request.URL.Query().Get("follow") != "true" || ended || request.Context().Err() != nil {
			return
		}
		time.Sleep(look)
	}
}

// PortForward copies between a stream and a port of the pod.
func (r *running) PortForward(ctx context.Context, name string, uid types.UID, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	socket, err := net.Dial("tcp", fmt.Sprintf("%s:%d", r.address, port))
	if err != nil {
		return err
	}
	defer socket.Close()
	done := make(chan struct{}, 2)
	go func() { _, _ = io.Copy(socket, stream); done <- struct{}{} }()
	go func() { _, _ = io.Copy(stream, socket); done <- struct{}{} }()
	select {
	case <-done:
	case <-ctx.Done():
	}
	return nil
}
