package httpapi

import "net/http"

// maxReleases is the most releases of one body, as many as there are questions
// in one that asks for their holds.
const maxReleases = 1000

// release gives up requests whose holds are to end: one, or an array. It is
// ingest for those who have nothing but a key and a request id to say.
func (a *api) release(w http.ResponseWriter, r *http.Request) error {
	m, err := mediaOf(r, mediaJSON, mediaMsgpack, mediaCloudEvent, mediaCloudEvents)
	if err != nil {
		return err
	}
	return a.publishBody(w, r, m, true)
}
