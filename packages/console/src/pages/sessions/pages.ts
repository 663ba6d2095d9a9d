import type { Page } from '../../app/pages.ts'

/** Who is online, and who was. */
export const sessionsPages: readonly Page[] = [
  {
    path: '/sessions',
    title: 'sessions.title',
    role: 'viewer',
    group: 'people',
    load: () => import('./sessions.tsx'),
  },
]
