import { assert, suite } from '@steeple/testkit'
import { publicMetrics } from '../src/bundle/bundle.ts'

const metrics = suite('support/public-metrics')

const SECRET = 'svc_Abcdefghijklmnop'

/** Stands for the kernel's rules; counts how often it is asked. */
function counting(): { readonly asked: string[]; readonly scrub: (text: string) => string } {
  const asked: string[] = []
  return {
    asked,
    scrub: (text) => {
      asked.push(text)
      return text.replaceAll(SECRET, '[redacted]')
    },
  }
}

metrics(
  'takes secrets out of comments and labels, of the edge and of plugins, and leaves names and numbers',
  () => {
    const lines = [
      `# HELP svc_odd_total Of ${SECRET}.`,
      `svc_http_requests_total{method="GET",route="/v1/${SECRET}",status="200"} 12`,
      `svc_odd_total{who="${SECRET}",what="of ada@example.org"} 0.004123456789012345`,
      'svc_odd_total 7',
      '',
    ]
    assert.equal(publicMetrics(lines.join('\n'), counting().scrub).split('\n'), [
      '# HELP svc_odd_total Of [redacted].',
      'svc_http_requests_total{method="GET",route="/v1/[redacted]",status="200"} 12',
      'svc_odd_total{who="[redacted]",what="of [left out]"} 0.004123456789012345',
      'svc_odd_total 7',
      '',
    ])
  },
)

metrics('leaves routes of the edge as they are, which a plugin may not have in its labels', () => {
  const line = (name: string): string => `${name}{route="/console-files/folder/{file}"} 1`
  const { scrub } = counting()
  assert.is(publicMetrics(line('svc_http_requests_total'), scrub), line('svc_http_requests_total'))
  assert.is.not(publicMetrics(line('svc_odd_total'), scrub), line('svc_odd_total'))
})

metrics('looks at each value of a label once, in however many lines it stands', () => {
  const buckets = Array.from(
    { length: 500 },
    (_, nth) => `svc_http_request_duration_seconds_bucket{method="GET",le="${nth % 5}"} ${nth}`,
  )
  const { asked, scrub } = counting()
  publicMetrics(buckets.join('\n'), scrub)
  assert.equal(asked.toSorted(), ['0', '1', '2', '3', '4', 'GET'])
})

metrics.run()
