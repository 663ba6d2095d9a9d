import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { type Board, IncidentList, Mend, wellText } from '../../app/incidents.tsx'
import { isAbout } from '../../app/is-about.ts'
import { isKeptOff } from '../../app/kept-off.ts'
import { ifPage } from '../../app/pages-here.ts'
import { Panels } from '../../app/plugin-pages.tsx'
import { tx } from '../../app/transmitter.tsx'
import { t } from '../../text/index.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Lamp } from '../../ui/lamp.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'

/** What needs somebody now: the outages, and what plugins tell of beside them. */
export function Needs({
  board,
  children,
}: {
  readonly board: Board
  /** What is over. */
  readonly children: ComponentChildren
}) {
  const [told, setTold] = useState<readonly string[]>([])
  const { at, error, incidents } = board
  const isKnown = (subject: string): boolean => incidents.some((incident) => isAbout(incident, subject))
  const isKept = isKeptOff(tx.value)
  return (
    <Card title={t('home.needs')}>
      <ErrorNotice error={error} />
      {at !== undefined && told.length + incidents.length === 0 ? (
        <p>
          <Lamp tone={isKept ? 'none' : 'ok'} label={wellText(board)} />
          {isKept ? <> {t('home.needs.keptOff')}</> : null}
        </p>
      ) : null}
      <IncidentList board={board} />
      {children}
      <ul class="home-list">
        <Panels on="overview.needs" isKnown={isKnown} status={board.status.data} onTold={setTold} Act={Act} />
      </ul>
    </Card>
  )
}

/** What can be done about something that is wrong: mend it here, or go where it is looked at. */
function Act({
  rule,
  place,
  onDone,
}: {
  readonly rule: string
  readonly place: string
  readonly onDone: () => void
}) {
  const href = ifPage(place) ?? ifPage('/system')
  return (
    <>
      <Mend kind={rule === 'clock_skew' ? 'clock_wrong' : ''} onDone={onDone} />
      {href === undefined ? null : <ButtonLink href={href}>{t('home.look')}</ButtonLink>}
    </>
  )
}
