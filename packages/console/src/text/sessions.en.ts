/** Texts of sessions. */
export const sessionsEn = {
  'sessions.title': 'Sessions',
  'sessions.sim': 'SIM',
  'sessions.state': 'State',
  'sessions.state.going': 'Those that go on',
  'sessions.state.active': 'active',
  'sessions.state.idle': 'idle',
  'sessions.state.ended': 'ended',
  'sessions.apn': 'APN',
  'sessions.down': 'Received',
  'sessions.up': 'Sent',
  'sessions.since': 'Began',
  'sessions.length': 'Lasted',
  'sessions.address': 'Address',
  'sessions.technology': 'Network',
  'sessions.technology.lte': '4G',
  'sessions.technology.nr': '5G',
  'sessions.cell': 'Cell',
  'sessions.incomplete': 'At least: some of it may not have been seen',
  'sessions.none': 'Nobody is online',
  'sessions.none.help':
    'A phone shows up here as soon as it is on the network. If one should be and is not, open its SIM: it says why.',
  'sessions.none.found': 'No session is like that',
} as const

declare module './index.ts' {
  interface AreaTexts {
    readonly sessions: typeof sessionsEn
  }
}
