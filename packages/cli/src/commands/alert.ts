import type { CommandEntry } from './api-commands.ts'

const WEBHOOKS = 'GET /v1/alerts/webhooks'
const IS_OFF = {
  says: 'svc: no rule is looked at: set alerts.enabled (SVC_ALERTS_ENABLED) of the service',
  when: { enabled: false },
}
const ALERT = {
  to: 'path.id',
  pattern: '^a-[0-9a-f]{16}$',
  refusal: 'an alert is named by its id, a-…, not {value}; svc alert list shows it',
}

/** `svc alert list|ack|silence|webhooks|test`: what needs somebody, and who is told. */
export const ALERT_COMMANDS: readonly CommandEntry[] = [
  { group: 'alert', summary: 'what needs somebody, and who is told' },
  {
    usage: 'alert list',
    summary: 'alerts, newest first; those that are over too, with --state all',
    operation: 'GET /v1/alerts',
    options: {
      '--state <state>': {
        summary: 'in this state',
        choices: ['open', 'pending', 'firing', 'resolved', 'all'],
        default: 'open',
        unsent: 'all',
      },
      '--severity <severity>': { summary: 'of this weight', choices: ['info', 'warning', 'critical'] },
      '--rule <rule>': 'of this rule',
    },
    list: {
      key: 'alerts',
      // An empty list would say that all is well.
      whenEmpty: { ...IS_OFF, operation: WEBHOOKS },
      columns: [
        { title: 'ALERT', value: 'id', fit: 'whole' },
        { value: 'severity', fit: 'whole' },
        { value: 'state', fit: 'whole' },
        'rule',
        { title: 'SINCE', value: 'started_at' },
        { value: 'message', fit: 'wrap' },
        { title: 'ACK', value: 'acked_by' },
        { title: 'SILENT UNTIL', value: 'silenced_until' },
      ],
    },
  },
  {
    usage: 'alert ack <alert>',
    summary: 'say that somebody takes care of it',
    operation: 'POST /v1/alerts/{id}/ack',
    arguments: { alert: ALERT },
  },
  {
    usage: 'alert silence <alert>',
    summary: 'tell no receiver of its rule and subject for a time',
    operation: 'POST /v1/alerts/{id}/silence',
    arguments: { alert: ALERT },
    options: {
      '--for <duration>': { summary: 'so long, such as 2h or 3d', takes: 'ahead', to: 'body.until' },
      '--until <time>': 'until then, RFC 3339',
      '--end': { summary: 'tell of it again', to: 'body.until', value: null },
    },
    exactlyOne: 'say how long: --for, --until or --end',
  },
  {
    usage: 'alert webhooks',
    summary: 'the receivers, and what they have not taken yet',
    operation: WEBHOOKS,
    note: IS_OFF,
    list: {
      key: 'webhooks',
      isWhole: true,
      columns: [
        { title: 'WEBHOOK', value: 'name', fit: 'whole' },
        'waiting',
        'parked',
        { value: 'last_error', fit: 'wrap' },
      ],
    },
  },
  {
    usage: 'alert test <webhook>',
    summary: 'send a receiver a message, and say whether it took it',
    operation: 'POST /v1/alerts/webhooks/test',
    options: { '--resend': 'send again what was given up, when it takes this one' },
    expects: { delivered: true },
  },
]
