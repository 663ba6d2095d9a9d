import type { ItemOf } from '@steeple/client'
import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { me } from '../../api/session.ts'
import { usePages } from '../../api/use-pages.ts'
import { useQuery } from '../../api/use-query.ts'
import { named, t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Select } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { Notice } from '../../ui/notice.tsx'
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
      text="people.token.make"
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
        text="people.token.for"
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
        <DeleteDialog
          token={chosen}
          tokens={tokens.data ?? []}
          onDone={tokens.reload}
          onClose={() => setChosen(undefined)}
        />
      )}
    </>
  )
}

/** Whether this page speaks by a token: no list says which one that is but by its name. */
function isOwn({ name, kind }: Token): boolean {
  return me.value?.kind === 'token' && me.value.name === name && kind === 'api'
}

/** No page asks for more. */
const LOOKED_THROUGH = 500

/** Takes a token away; not the one that this page speaks by, while it is the only way in that anybody has shown to work. */
function DeleteDialog({
  token,
  tokens,
  onDone,
  onClose,
}: {
  readonly token: Token
  readonly tokens: readonly Token[]
  readonly onDone: () => void
  readonly onClose: () => void
}) {
  const isOurs = isOwn(token)
  const users = useQuery(isOurs ? '/v1/users' : undefined, { query: { limit: LOOKED_THROUGH } })
  const isOnly =
    users.data !== undefined &&
    !users.data.users.some((user) => isAdmin(user) && user.last_login_at !== null) &&
    !tokens.some((other) => other.id !== token.id && isAdmin(other) && other.expires_at === null)
  const title = t('people.token.delete.title', { name: token.name })
  if (isOurs && isOnly)
    return (
      <Dialog isOpen title={title} onClose={onClose}>
        <Notice tone="warn">{t('people.token.delete.only')}</Notice>
        <div class="actions">
          <Button onClick={onClose}>{t('ui.close')}</Button>
        </div>
      </Dialog>
    )
  return (
    <FormDialog
      text="people.token.delete"
      title={title}
      isDanger
      isDisabled={isOurs && users.isLoading}
      act={() => api.delete('/v1/tokens/{id}', { path: { id: token.id } })}
      onDone={onDone}
      onClose={onClose}
    >
      {isOurs ? <Notice tone="warn">{t('people.token.delete.own')}</Notice> : null}
    </FormDialog>
  )
}

function isAdmin({ roles }: { readonly roles: readonly string[] }): boolean {
  return roles.includes('admin')
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
          label={named(t('people.token.delete'), token.name)}
          onClick={() => onDelete(token)}
        >
          {t('people.token.delete')}
        </Button>
      ),
    },
  ]
}
