import type { Page } from '../../app/pages.ts'

/** What is one's own: password, recovery codes, passkeys, sessions. */
export const accountPages: readonly Page[] = [
  {
    path: '/account',
    title: 'account.title',
    role: 'viewer',
    group: 'box',
    place: 40,
    load: () => import('./account.tsx'),
  },
]
