import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { usePanels } from '../../app/plugin-pages.tsx'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { type Column, type WholeColumn, wholeColumn } from '../../ui/data-table.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Checkbox } from '../../ui/field.tsx'
import { Attached, nameOf, pageOf, type Sim, SimState } from './sim.tsx'

const NAME = 'name'

function Named({ sim }: { readonly sim: Sim }) {
  return <a href={pageOf(sim.imsi_sha256_12)}>{nameOf(sim)}</a>
}

/** The columns of a list in which names come twice: those have the end of the id behind them. */
export function tellingTwinsApart(
  columns: readonly Column<Sim>[],
  rows: readonly Sim[],
): readonly Column<Sim>[] {
  const seen = new Set<string>()
  const twins = new Set<string>()
  for (const { label } of rows) {
    if (label !== null && seen.has(label)) twins.add(label)
    else if (label !== null) seen.add(label)
  }
  if (twins.size === 0) return columns
  const named = (sim: Sim) => (
    <>
      <Named sim={sim} />
      {twins.has(sim.label ?? '') ? <code> …{sim.imsi_sha256_12.slice(-4)}</code> : null}
    </>
  )
  return columns.map((column) => (column.key === NAME ? { ...column, cell: named } : column))
}

/** What a plugin adds to the list: columns, and the events after which what they show is another. */
interface SimColumns {
  readonly columns: () => readonly Column<Sim>[]
  readonly on: readonly string[]
}

/** The columns of the list, and those of plugins. */
function allColumns(more: readonly SimColumns[]): readonly WholeColumn<Sim>[] {
  const columns: readonly Column<Sim>[] = [
    { key: NAME, title: t('sims.name'), sort: 'label', cell: (sim) => <Named sim={sim} /> },
    {
      key: 'state',
      text: 'sims.filter.state',
      isTight: true,
      sort: 'state',
      cell: (sim) => <SimState sim={sim} />,
    },
    {
      key: 'attached',
      text: 'sims.filter.attached',
      isTight: true,
      cell: (sim) => <Attached attached={sim.attached} />,
    },
    {
      key: 'seen',
      text: 'sims.lastSeen',
      isWide: true,
      sort: 'last_seen',
      isDownFirst: true,
      of: 'last_seen_at',
      as: 'ago',
      none: 'sims.never',
    },
    ...more.flatMap((one) => one.columns()),
    {
      key: 'iccid',
      text: 'sims.iccid',
      isWide: true,
      isTight: true,
      cell: ({ iccid_last4: end }) => (end === null ? '' : `…${end}`),
    },
    {
      key: 'hash',
      text: 'sims.hash',
      isWide: true,
      isTight: true,
      cell: (sim) => <code>{sim.imsi_sha256_12}</code>,
    },
    {
      key: 'expires',
      text: 'sims.expires',
      isWide: true,
      isTight: true,
      sort: 'expires_at',
      of: 'expires_at',
      as: 'day',
    },
  ]
  return columns.map(wholeColumn)
}

/** Columns that somebody has left out, kept in this browser. */
const LEFT_OUT = 'sims.columns.left-out'

/** The columns of the list that are shown, and a button to choose them. */
export function useColumns(): {
  readonly shown: readonly Column<Sim>[]
  readonly chooser: ComponentChildren
  readonly on: readonly string[]
} {
  const more = usePanels<SimColumns>('sims.columns')
  const all = useMemo(() => allColumns(more ?? []), [more])
  const [leftOut, setLeftOut] = useState<readonly string[]>(() =>
    (localStorage.getItem(LEFT_OUT) ?? '').split(' '),
  )
  const [isOpen, setOpen] = useState(false)
  const shown = useMemo(() => all.filter(({ key }) => !leftOut.includes(key)), [all, leftOut])
  const choose = (key: string, isShown: boolean): void => {
    const next = leftOut.filter((one) => one !== key && one !== '').concat(isShown ? [] : [key])
    localStorage.setItem(LEFT_OUT, next.join(' '))
    setLeftOut(next)
  }
  const chooser = (
    <>
      <Button icon="columns-3" onClick={() => setOpen(true)}>
        {t('sims.columns')}
      </Button>
      <Dialog isOpen={isOpen} title={t('sims.columns')} onClose={() => setOpen(false)}>
        <div class="stack">
          {/* The name leads to the page of a SIM. */}
          {all.slice(1).map(({ key, title }) => (
            <Checkbox
              key={key}
              label={title}
              isChecked={!leftOut.includes(key)}
              onChange={(isShown) => choose(key, isShown)}
            />
          ))}
          <p class="fine">{t('sims.columns.help')}</p>
          <div class="actions">
            <Button onClick={() => setOpen(false)}>{t('ui.close')}</Button>
          </div>
        </div>
      </Dialog>
    </>
  )
  return { shown, chooser, on: (more ?? []).flatMap((one) => one.on) }
}
