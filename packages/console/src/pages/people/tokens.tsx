import type { ItemOf } from '@steeple/client'
import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { usePages } from '../../api/use-pages.ts'
import { t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Select } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { PagedTable } from '../../ui/paged-table.tsx'
import { Time } from '../../ui/time.tsx'
import { whoText } from '../../ui/who.ts'
import { NameAndRoles, rolesOf, rolesText } from './roles.tsx'
import { Secret, ShownOnce } from './shown-once.tsx'

const LENGTHS = ['24h', '7d', '30d', '90d', '365d', ''] as const

/** Makes a token for a program; what it is, is shown once. */
function TokenDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const [roles, setRoles] = useState<ReadonlySet<string>>(new Set(['viewer']))
  const [length, setLength] = useState<string>('90d')
  const [token, setToken] = useState<string | undefined>(undefined)
  if (token !== undefined)
    return (
      <ShownOnce title={t('people.token.made', { name })} onClose={onClose}>
        <Secret label={t('people.token')} text={token} />
        <p>{t('people.token.use')}</p>
      </ShownOnce>
    )
  return (
    <FormDialog
      title={t('people.token.make')}
      confirm={t('people.token.make')}
      what={t('people.token.what')}
      isDisabled={roles.size === 0}
      act={() =>
        api.post('/v1/tokens', {
          body: { name, roles: rolesOf(roles), ...(length === '' ? {} : { expires_in: length }) },
        })
      }
      onDone={(made) => setToken(made.token)}
      onClose={onClose}
    >
      <NameAndRoles
        help={t('people.token.name.help')}
        name={name}
        onName={setName}
        roles={roles}
        onRoles={setRoles}
      />
      <Select
        label={t('people.token.for')}
        help={t('people.token.for.help')}
        value={length}
        onChange={setLength}
        options={LENGTHS.map((value) => ({
          value,
          label: value === '' ? t('people.token.forever') : t(`people.for.${value}`),
        }))}
      />
    </FormDialog>
  )
}

type Token = ItemOf<'/v1/tokens'>

/** Tokens of programs, made and deleted. */
export function Tokens() {
  const [isMaking, setMaking] = useState(false)
  const [chosen, setChosen] = useState<Token | undefined>(undefined)
  const tokens = usePages('/v1/tokens', {}, ['token.*', 'user.*'])
  return (
    <>
      <div class="toolbar">
        <Button icon="plus" kind="primary" onClick={() => setMaking(true)}>
          {t('people.token.make')}
        </Button>
      </div>
      <PagedTable
        query={tokens}
        label={t('people.tokens')}
        columns={columns(setChosen)}
        keyOf={({ id }) => id}
        empty={<EmptyState title={t('people.tokens.none')}>{t('people.tokens.none.help')}</EmptyState>}
      />
      {isMaking ? (
        <TokenDialog
          onClose={() => {
            setMaking(false)
            tokens.reload()
          }}
        />
      ) : null}
      {chosen === undefined ? null : (
        <FormDialog
          title={t('people.token.delete.title', { name: chosen.name })}
          confirm={t('people.token.delete')}
          what={t('people.token.delete.what')}
          isDanger
          act={() => api.delete('/v1/tokens/{id}', { path: { id: chosen.id } })}
          done={t('people.token.deleted')}
          onDone={tokens.reload}
          onClose={() => setChosen(undefined)}
        />
      )}
    </>
  )
}

function columns(onDelete: (token: Token) => void): readonly Column<Token>[] {
  return [
    {
      key: 'name',
      title: t('people.name'),
      cell: ({ name }) => name,
      compare: (a, b) => a.name.localeCompare(b.name),
    },
    {
      key: 'roles',
      title: t('people.roles'),
      cell: ({ kind, roles }) => (kind === 'api' ? rolesText(roles) : word('people.token.kind', kind)),
    },
    {
      key: 'until',
      title: t('people.until'),
      cell: ({ expires_at: at }) => (at === null ? t('people.token.forever') : <Time at={at} relative />),
    },
    {
      key: 'used',
      title: t('people.token.used'),
      cell: ({ last_used_at: at }) => (at === null ? t('people.never') : <Time at={at} relative />),
      isWide: true,
    },
    { key: 'by', title: t('people.by'), cell: ({ created_by }) => whoText(created_by), isWide: true },
    {
      key: 'do',
      title: t('people.actions'),
      cell: (token) => (
        <Button
          kind="quiet"
          label={`${t('people.token.delete')}: ${token.name}`}
          onClick={() => onDelete(token)}
        >
          {t('people.token.delete')}
        </Button>
      ),
    },
  ]
}
