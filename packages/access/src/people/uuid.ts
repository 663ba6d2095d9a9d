/** The form of every id that `randomUUID` gives, as a JSON Schema pattern. */
export const UUID_PATTERN = '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
