python3 -c "
import json
def point(i):
    return {'type': 'Feature', 'properties': {'n': i, 's': 'x%d' % i},
            'geometry': {'type': 'Point', 'coordinates': [i % 180, i % 90]}}
print(json.dumps({'type': 'FeatureCollection', 'features': [point(i) for i in range(2000)]}))" > in.geojson
"$P" -f CSV out.csv in.geojson -lco GEOMETRY=AS_WKT -s_srs EPSG:4326 -t_srs EPSG:3857
"$P" -f KML out.kml in.geojson
"$P" -f CSV sum.csv in.geojson -dialect sqlite -sql 'select count(*) as c, sum(n) as n from "in"'
